/* Translates SVM exits to the vendor-neutral reasons of abi.h. */
#include "abi.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

/* Instruction lengths without prefixes, for processors that do not report the next ip. */
#define LENGTH_CPUID 2u
#define LENGTH_HLT 1u
#define LENGTH_MSR 2u
#define LENGTH_VMMCALL 3u
#define LENGTH_INVD 2u

#define EXCEPTION_INVALID_OPCODE 6u
#define EXCEPTION_PROTECTION 13u

static void svm_next_rip(uint32_t vm, uint64_t length)
{
    if (svm_has_next_rip) {
        svm_guest[vm].next_rip = vmcb_get(vm, VMCB_NEXT_RIP);
    } else {
        svm_guest[vm].next_rip = vmcb_get(vm, VMCB_RIP) + length;
    }
}

static uint32_t svm_exit_io(uint32_t vm)
{
    uint64_t info = vmcb_get(vm, VMCB_EXIT_INFO1);
    uint64_t port = (info >> 16) & 0xffff;
    uint64_t size = (info >> 4) & 7;    /* one of three bits: 8, 16, 32 bits */
    uint64_t address = (info >> 7) & 7; /* likewise: 16, 32, 64 bits */
    uint64_t in = (info & IOIO_IN) ? 1 : 0;
    uint64_t string = (info & IOIO_STRING) ? 1 : 0;
    uint64_t rep = (info & IOIO_REP) ? 1 : 0;
    svm_guest[vm].info1 = port | size << 16 | in << 24 | string << 25 | rep << 26 | (address * 2) << 32;
    svm_guest[vm].next_rip = vmcb_get(vm, VMCB_EXIT_INFO2);
    return VCPU_EXIT_IO;
}

static uint32_t svm_exit_memory(uint32_t vm)
{
    uint64_t info = vmcb_get(vm, VMCB_EXIT_INFO1);
    uint64_t write = (info & NPF_WRITE) ? 1 : 0;
    uint64_t fetch = (info & NPF_FETCH) ? 2 : 0;
    uint64_t walk = (info & NPF_TABLE_WALK) ? 4 : 0;
    svm_guest[vm].info1 = vmcb_get(vm, VMCB_EXIT_INFO2);
    svm_guest[vm].info2 = write | fetch | walk;
    svm_guest[vm].fetched = svm_has_decode_assists && !fetch;
    return VCPU_EXIT_MEMORY;
}

static uint32_t svm_exit_instruction(uint32_t vm, uint64_t exception)
{
    svm_guest[vm].info1 = exception;
    return VCPU_EXIT_INSTRUCTION;
}

uint32_t svm_exit_reason(uint32_t vm, uint32_t code)
{
    svm_guest[vm].info1 = 0;
    svm_guest[vm].info2 = 0;
    svm_guest[vm].next_rip = 0;
    svm_guest[vm].fetched = 0;
    switch (code) {
    case SVM_EXIT_IOIO:
        return svm_exit_io(vm);
    case SVM_EXIT_NPF:
        return svm_exit_memory(vm);
    case SVM_EXIT_CPUID:
        svm_next_rip(vm, LENGTH_CPUID);
        return VCPU_EXIT_CPUID;
    case SVM_EXIT_MSR:
        svm_next_rip(vm, LENGTH_MSR);
        return vmcb_get(vm, VMCB_EXIT_INFO1) & 1 ? VCPU_EXIT_MSR_WRITE : VCPU_EXIT_MSR_READ;
    case SVM_EXIT_HLT:
        svm_next_rip(vm, LENGTH_HLT);
        return VCPU_EXIT_HALT;
    case SVM_EXIT_VMMCALL:
        svm_next_rip(vm, LENGTH_VMMCALL);
        return VCPU_EXIT_HYPERCALL;
    case SVM_EXIT_INVD:
    case SVM_EXIT_WBINVD:
        svm_next_rip(vm, LENGTH_INVD);
        return VCPU_EXIT_CACHE;
    case SVM_EXIT_VINTR:
        return VCPU_EXIT_INTERRUPT_WINDOW;
    case SVM_EXIT_SHUTDOWN:
        return VCPU_EXIT_SHUTDOWN;
    case SVM_EXIT_INVALID:
        svm_guest[vm].refused = 1;
        return VCPU_EXIT_INVALID_STATE;
    case SVM_EXIT_RDPMC:
        return svm_exit_instruction(vm, EXCEPTION_PROTECTION);
    case SVM_EXIT_INVLPGA:
    case SVM_EXIT_MONITOR:
    case SVM_EXIT_MWAIT:
    case SVM_EXIT_MWAIT_ARMED:
    case SVM_EXIT_XSETBV:
    case SVM_EXIT_RDPRU:
        return svm_exit_instruction(vm, EXCEPTION_INVALID_OPCODE);
    case SVM_EXIT_EXCEPTION + EXCEPTION_MACHINE_CHECK:
        svm_guest[vm].info1 = guest_machine_check(&svm_guest[vm].bank);
        return VCPU_EXIT_MACHINE_CHECK;
    default:
        if (code >= SVM_EXIT_READ_DR0 && code <= SVM_EXIT_WRITE_DR15) {
            svm_guest[vm].info1 = (code & 0xf) | (code >= SVM_EXIT_WRITE_DR0 ? 1ul << 8 : 0);
            return VCPU_EXIT_DEBUG_REGISTER;
        }
        if (code >= SVM_EXIT_VMRUN && code <= SVM_EXIT_SKINIT) {
            return svm_exit_instruction(vm, EXCEPTION_INVALID_OPCODE);
        }
        svm_guest[vm].info1 = code;
        return VCPU_EXIT_UNSUPPORTED;
    }
}

uint64_t svm_event_again(uint64_t event)
{
    uint64_t type = (event >> EVENT_TYPE_SHIFT) & 7;
    uint64_t vector = event & 0xff;
    if (!(event & EVENT_VALID)) {
        return 0;
    }
    if (type == EVENT_TYPE_EXTERNAL || type == EVENT_TYPE_NMI) {
        return event & EVENT_FIELDS;
    }
    if (type == EVENT_TYPE_EXCEPTION && vector != 3 && vector != 4 && vector < 32) {
        return event & EVENT_FIELDS;
    }
    return 0;
}

uint32_t svm_vcpu_report_part(uint32_t vm)
{
    if (svm_guest[vm].refused) { /* these processors do not say why */
        return 0;
    }
    return guest_machine_check_part(&svm_guest[vm].bank, &svm_guest[vm].info2);
}
