/* The loop that runs a guest, with a processor that the test plays: what each exit leads to, and that the loop ends whatever
 * the guest does. Machines on which these exits come (AMD's own processors) are not among those of the whole-system tests. */
#include "guest/svm.c"

#include "guest/svm_cpuid.c"
#include "guest/svm_debug.c"
#include "guest/svm_exit.c"
#include "guest/svm_long_mode.c"
#include "guest/machine_check.c"

#include "test.h"

#define VM 1u
#define ROOT 77u
#define MOST_ENTRIES 100u
#define MSR_BANK(i) (MSR_BANK_STATUS + 4 * (i))

uint32_t svm_on_tcg;

/* ---- the processor ---- */
static uint32_t entries;
static uint32_t next_code;   /* exit code of every entry */
static uint64_t next_event;  /* event whose delivery the exit interrupted */
static uint64_t real_dr[4];  /* of the processor */
static uint64_t guest_dr[4]; /* what the guest had in them at its last entry */
static uint64_t guest_intercepts;
static uint64_t mcg_status;
static uint64_t bank_status[2];

void svm_enter(uint64_t guest_vmcb, uint64_t *gpr, uint64_t host_vmcb)
{
    (void)guest_vmcb;
    (void)gpr;
    (void)host_vmcb;
    entries++;
    for (uint32_t i = 0; i < 4; i++) {
        guest_dr[i] = real_dr[i];
    }
    guest_intercepts = vmcb_get32(VM, VMCB_INTERCEPT_DR);
    vmcb_set32(VM, VMCB_EXIT_CODE, entries < MOST_ENTRIES ? next_code : SVM_EXIT_SHUTDOWN);
    vmcb_set(VM, VMCB_EXIT_INT_INFO, next_event);
    if (next_code >= SVM_EXIT_READ_DR0 && next_code <= SVM_EXIT_WRITE_DR15) {
        next_code = SVM_EXIT_HLT;
    }
}

void guest_debug_write(const uint64_t dr[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        real_dr[i] = dr[i];
    }
}

void guest_debug_read(uint64_t dr[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        dr[i] = real_dr[i];
    }
}

uint64_t guest_msr_read(uint32_t msr)
{
    CHECK(msr == MSR_MCG_CAPABILITIES || msr == MSR_MCG_STATUS || msr == MSR_BANK(0) || msr == MSR_BANK(1));
    return msr == MSR_MCG_CAPABILITIES ? 2 : msr == MSR_MCG_STATUS ? mcg_status : bank_status[msr == MSR_BANK(1)];
}

void guest_msr_write(uint32_t msr, uint64_t value)
{
    if (msr == MSR_MCG_STATUS) {
        mcg_status = value;
    } else if (msr == MSR_BANK(0) || msr == MSR_BANK(1)) {
        bank_status[msr == MSR_BANK(1)] = value;
    } else {
        CHECK(0);
    }
}

/* ---- what else the loop calls ---- */
uint32_t arch_cpu(void)
{
    return 0;
}

uint64_t arch_frame_read(uint32_t frame, uint32_t word)
{
    (void)frame;
    return word == VCPU_DR7 ? 0x1 : word >= VCPU_DR0 && word < VCPU_DR0 + 4 ? 0x1000 + word : 0;
}

void svm_reset_state(uint32_t vm)
{
    (void)vm;
}

void svm_tcg_init(void)
{
}

void svm_tcg_before_entry(uint32_t vm)
{
    (void)vm;
}

void svm_tcg_after_exit(void)
{
}

void mitigations_around_guest(void)
{
}

void fpu_reset_guest(uint32_t vm)
{
    (void)vm;
}

uint32_t fpu_repair_components(void)
{
    return 0;
}

/* ---- the tests ---- */
static uint32_t run(uint32_t code, uint64_t event)
{
    entries = 0;
    next_code = code;
    next_event = event;
    uint32_t left = svm_vcpu_enter(VM, ROOT);
    while (left == VCPU_EXIT_MACHINE_CHECK && svm_vcpu_report_part(VM)) {
    }
    return left;
}

/* The guest gets its exception at the next run; between two runs interrupts are served. */
static void test_exception_storm(uint32_t vector)
{
    svm_vcpu_init(VM);
    vmcb_set(VM, VMCB_EXIT_INFO1, 0x55);
    CHECK_EQUAL(run(SVM_EXIT_EXCEPTION + vector, 0), VCPU_EXIT_NONE);
    CHECK_EQUAL(entries, 1);
    CHECK_EQUAL(vmcb_get(VM, VMCB_EVENT_INJECT) & 0x800007ff, EVENT_VALID | EVENT_TYPE_EXCEPTION << 8 | vector);
    CHECK_EQUAL(vmcb_get(VM, VMCB_EVENT_INJECT) >> 32, vector == EXCEPTION_ALIGNMENT ? 0x55 : 0);
    /* While another event was delivered: the guest cannot go on. */
    CHECK_EQUAL(run(SVM_EXIT_EXCEPTION + vector, EVENT_VALID | EVENT_TYPE_EXCEPTION << 8 | 14), VCPU_EXIT_UNSUPPORTED);
    CHECK_EQUAL(entries, 1);
}

static void test_machine_check(void)
{
    svm_vcpu_init(VM);
    mcg_status = 5;
    bank_status[0] = 3;
    bank_status[1] = BANK_VALID | 9;
    CHECK_EQUAL(run(SVM_EXIT_EXCEPTION + EXCEPTION_MACHINE_CHECK, 0), VCPU_EXIT_MACHINE_CHECK);
    CHECK_EQUAL(svm_guest[VM].info1, 5);
    CHECK_EQUAL(svm_guest[VM].info2, BANK_VALID | 9);
    CHECK_EQUAL(mcg_status, 0);
    CHECK_EQUAL(bank_status[0], 3);
    CHECK_EQUAL(bank_status[1], 0);
}

/* The guest has the registers from its first access, or with a breakpoint turned on; outside they are zero. */
static void test_debug_registers(void)
{
    svm_vcpu_init(VM);
    svm_guest[VM].dr[2] = 0x1234;
    CHECK_EQUAL(run(SVM_EXIT_HLT, 0), VCPU_EXIT_HALT);
    CHECK_EQUAL(guest_intercepts, 0xffffffff);
    CHECK_EQUAL(guest_dr[2], 0);
    CHECK_EQUAL(run(SVM_EXIT_WRITE_DR0 + 2, 0), VCPU_EXIT_HALT);
    CHECK_EQUAL(entries, 2);
    CHECK_EQUAL(guest_intercepts, 0);
    CHECK_EQUAL(guest_dr[2], 0x1234);
    CHECK_EQUAL(real_dr[2], 0);
    CHECK_EQUAL(svm_guest[VM].dr[2], 0x1234);
    svm_debug_import(VM, 0);
    CHECK_EQUAL(run(SVM_EXIT_HLT, 0), VCPU_EXIT_HALT);
    CHECK_EQUAL(vmcb_get(VM, VMCB_DR7), 0x401);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQUAL(guest_dr[i], 0x1000 + VCPU_DR0 + i);
        CHECK_EQUAL(real_dr[i], 0);
    }
}

/* On TCG nothing of the guest reaches the processor's registers. */
static void test_debug_registers_kept_out(void)
{
    svm_on_tcg = 1;
    svm_vcpu_init(VM);
    svm_debug_import(VM, 0);
    CHECK_EQUAL(run(SVM_EXIT_WRITE_DR0 + 2, 0), VCPU_EXIT_DEBUG_REGISTER);
    CHECK_EQUAL(svm_guest[VM].info1, 0x102);
    CHECK_EQUAL(run(SVM_EXIT_READ_DR0 + 7, 0), VCPU_EXIT_DEBUG_REGISTER);
    CHECK_EQUAL(svm_guest[VM].info1, 7);
    CHECK_EQUAL(vmcb_get(VM, VMCB_DR7), 0x400);
    CHECK_EQUAL(guest_intercepts, 0xffffffff);
    CHECK_EQUAL(guest_dr[0] | guest_dr[1] | guest_dr[2] | guest_dr[3], 0);
    svm_on_tcg = 0;
}

int main(void)
{
    test_exception_storm(EXCEPTION_DEBUG);
    test_exception_storm(EXCEPTION_ALIGNMENT);
    test_machine_check();
    test_debug_registers();
    test_debug_registers_kept_out();
    return TEST_END();
}
