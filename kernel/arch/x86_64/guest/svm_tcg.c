/* Workarounds for bugs of an emulator, QEMU's TCG (7.2, and others), at guest entry and exit. Processors do not have
 * them; the workarounds are active on TCG only. Another one is in svm_long_mode.c.
 *
 * At an entry that injects an external interrupt, the emulator delivers it but keeps its number as an exception still
 * to be raised. Usually the next exit overwrites it; if another processor stops this one's emulation before that, the
 * number is raised, and the guest is interrupted again on the first instruction of its handler, whatever its
 * interrupt flag says. So before such an entry this CPU sends itself an interrupt: the guest exits at once, before
 * anything else can stop it. With one CPU there is no other, and devices stop it by interrupts only.
 *
 * A guest that writes CR8 while a virtual interrupt waits ends the emulator. So while the kernel asks for the guest's next
 * interrupt window such a write exits instead, which the monitor does not emulate: Linux does not write CR8.
 *
 * A guest whose task register does not name an available task state segment that is present ends the emulator when it comes
 * from another ring to ring 0 outside 64-bit mode, and cannot use its I/O bitmap. On processors it names a busy one, always;
 * so it is made one that is available.
 *
 * When a processor loads x87 state (FXRSTOR, XRSTOR, FLDENV), the emulator clears a bit among the flags of the first one,
 * whichever does it, without a lock. So it can undo what the first one did to its flags just then: whether its addresses
 * are a guest's, and whether it takes interrupts. A guest there ends or goes on with the host's state, or the processor
 * never wakes again. So where guests share an emulated machine of several processors its first is left out.
 *
 * At an exit the emulator changes the processor's list of requests without its lock, and can lose the request to
 * check the local APIC, where an interrupt then stays pending unnoticed. Writing the task priority, unchanged, makes
 * it check again. */
#include "arch.h"
#include "cpu/cpu.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define HYPERVISOR_PRESENT (1u << 31) /* leaf 1, ecx */
#define HYPERVISOR_LEAF 0x40000000u
#define TCG_EBX 0x54474354u /* "TCGTCGTCGTCG" in ebx ecx edx */
#define TCG_ECX 0x43544743u
#define TCG_EDX 0x47435447u

/* In the word of the task register. */
#define TASK_TYPE_OTHERS (6ul << 16) /* of types, all but the bits for "task state segment, available" and "32 bits" */
#define TASK_AVAILABLE (1ul << 16)
#define TASK_PRESENT (1ul << 23)

uint32_t svm_on_tcg;

void svm_tcg_init(void)
{
    if (cpuid(1, 0).ecx & HYPERVISOR_PRESENT) {
        struct cpuid name = cpuid(HYPERVISOR_LEAF, 0);
        svm_on_tcg = name.ebx == TCG_EBX && name.ecx == TCG_ECX && name.edx == TCG_EDX;
    }
}

void svm_tcg_task(uint32_t vm)
{
    if (svm_on_tcg) {
        vmcb_set(vm, VMCB_TR, (vmcb_get(vm, VMCB_TR) & ~TASK_TYPE_OTHERS) | TASK_AVAILABLE | TASK_PRESENT);
    }
}

void svm_tcg_before_entry(uint32_t vm)
{
    uint64_t event = vmcb_get(vm, VMCB_EVENT_INJECT);
    if (svm_on_tcg && svm_guest[vm].window) {
        vmcb_set32(vm, VMCB_INTERCEPT_CR, vmcb_get32(vm, VMCB_INTERCEPT_CR) | INTERCEPT_CR8_WRITE);
    }
    if (svm_on_tcg && arch_cpu_count() > 1 && (event & EVENT_VALID) &&
        ((event >> EVENT_TYPE_SHIFT) & 7) == EVENT_TYPE_EXTERNAL) {
        arch_interrupt_send(arch_cpu(), VECTOR_RESCHEDULE);
    }
}

void svm_tcg_after_exit(void)
{
    if (svm_on_tcg) {
        write_cr8(0);
    }
}

uint32_t svm_tcg_first_unfit(void)
{
    return svm_on_tcg;
}

void svm_tcg_stop(uint32_t *stopped)
{
    /* Without the global flag not even an NMI is taken, which would find another CPU's stack. */
    __asm__ volatile("cli\n\t"
                     "clgi\n\t"
                     "movl $1, %0\n"
                     "1:\thlt\n\t"
                     "jmp 1b"
                     : "=m"(*stopped)
                     :
                     : "memory");
    __builtin_unreachable();
}
