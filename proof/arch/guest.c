/* Entry into guests: one run each, until the first exit.
 *
 * The C passes the address of a guest's registers; here the guest's number is passed. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define BLOCK_WORDS 512u
#define NUM_GPR 16u
#define NUM_DR 4u
#define NUM_FIELD 57u
#define NUM_SWITCHED 5u /* registers of system calls, which VT-x switches by lists */

struct block {
    uint64_t word[BLOCK_WORDS];
};

struct svm_guest {
    uint64_t gpr[NUM_GPR]; /* by the numbers of registers; RAX and RSP are in the control block */
    uint64_t dr[NUM_DR];
    uint64_t dr7;
    uint64_t info1;
    uint64_t info2;
    uint64_t next_rip;
    uint32_t dr_loaded;
    uint32_t cr0_write;
    uint32_t window;
    uint32_t flush;
    uint32_t fetched;
    uint32_t page;
    uint32_t refused;
    uint32_t bank;
};

struct vmx_guest {
    uint64_t gpr[NUM_GPR]; /* RSP is in the control structure */
    uint64_t field[NUM_FIELD];
    uint64_t cr2;
    uint64_t dr[NUM_DR];
    uint64_t dr6;
    uint64_t event;
    uint64_t info1;
    uint64_t info2;
    uint64_t next_rip;
    uint32_t changed;
    uint32_t cpu;
    uint32_t dr_loaded;
    uint32_t window;
    uint32_t flush;
    uint32_t page;
    uint32_t refused;
    uint32_t bank;
    uint32_t spare[2];
};

struct vmx_guest_msr {
    uint32_t index;
    uint32_t reserved;
    uint64_t value;
};

static struct block guest_block[NUM_VM];
static struct block host_block[NUM_CPU]; /* the host's state, saved by start-up */
static struct svm_guest svm_guest[NUM_VM];
static struct vmx_guest vmx_guest[NUM_VM];
static struct vmx_guest_msr vmx_guest_msr[NUM_VM * NUM_SWITCHED];
static struct block vmx_virtual_apic[NUM_VM];

/* Nothing interrupts until the host's state is back: a pending interrupt ends the run. */
void svm_enter(uint64_t block, uint32_t vm, uint64_t host)
{
    uint32_t clears = mitigations_before_guest();
    if (clears != 0u) {
        machine_clear_buffers();
    }
    machine_global_interrupts_off();
    machine_interrupts_on();
    machine_load_guest(block);
    machine_run_guest(block, svm_guest[vm].gpr[RCX], svm_guest[vm].gpr[RDX], svm_guest[vm].gpr[RBX],
                      svm_guest[vm].gpr[RBP], svm_guest[vm].gpr[RSI], svm_guest[vm].gpr[RDI], svm_guest[vm].gpr[R8],
                      svm_guest[vm].gpr[R9], svm_guest[vm].gpr[R10], svm_guest[vm].gpr[R11], svm_guest[vm].gpr[R12],
                      svm_guest[vm].gpr[R13], svm_guest[vm].gpr[R14], svm_guest[vm].gpr[R15]);
    uint64_t rcx = machine_guest_register(RCX);
    uint64_t rdx = machine_guest_register(RDX);
    uint64_t rbx = machine_guest_register(RBX);
    uint64_t rbp = machine_guest_register(RBP);
    uint64_t rsi = machine_guest_register(RSI);
    uint64_t rdi = machine_guest_register(RDI);
    uint64_t r8 = machine_guest_register(R8);
    uint64_t r9 = machine_guest_register(R9);
    uint64_t r10 = machine_guest_register(R10);
    uint64_t r11 = machine_guest_register(R11);
    uint64_t r12 = machine_guest_register(R12);
    uint64_t r13 = machine_guest_register(R13);
    uint64_t r14 = machine_guest_register(R14);
    uint64_t r15 = machine_guest_register(R15);
    machine_save_guest(block);
    svm_guest[vm].gpr[RCX] = rcx;
    svm_guest[vm].gpr[RDX] = rdx;
    svm_guest[vm].gpr[RBX] = rbx;
    svm_guest[vm].gpr[RBP] = rbp;
    svm_guest[vm].gpr[RSI] = rsi;
    svm_guest[vm].gpr[RDI] = rdi;
    svm_guest[vm].gpr[R8] = r8;
    svm_guest[vm].gpr[R9] = r9;
    svm_guest[vm].gpr[R10] = r10;
    svm_guest[vm].gpr[R11] = r11;
    svm_guest[vm].gpr[R12] = r12;
    svm_guest[vm].gpr[R13] = r13;
    svm_guest[vm].gpr[R14] = r14;
    svm_guest[vm].gpr[R15] = r15;
    machine_load_host(host);
    machine_interrupts_off();
    machine_global_interrupts_on();
}

/* 1: the processor has refused the entry. */
uint32_t vmx_enter(uint32_t vm, uint32_t launched)
{
    machine_write_host_stack();
    uint32_t clears = mitigations_before_guest();
    if (clears != 0u) {
        machine_clear_buffers();
    }
    uint32_t refused = 0u;
    if (launched != 0u) {
        refused = machine_resume_guest(vmx_guest[vm].gpr[RAX], vmx_guest[vm].gpr[RCX], vmx_guest[vm].gpr[RDX],
                                       vmx_guest[vm].gpr[RBX], vmx_guest[vm].gpr[RBP], vmx_guest[vm].gpr[RSI],
                                       vmx_guest[vm].gpr[RDI], vmx_guest[vm].gpr[R8], vmx_guest[vm].gpr[R9],
                                       vmx_guest[vm].gpr[R10], vmx_guest[vm].gpr[R11], vmx_guest[vm].gpr[R12],
                                       vmx_guest[vm].gpr[R13], vmx_guest[vm].gpr[R14], vmx_guest[vm].gpr[R15]);
    } else {
        refused = machine_launch_guest(vmx_guest[vm].gpr[RAX], vmx_guest[vm].gpr[RCX], vmx_guest[vm].gpr[RDX],
                                       vmx_guest[vm].gpr[RBX], vmx_guest[vm].gpr[RBP], vmx_guest[vm].gpr[RSI],
                                       vmx_guest[vm].gpr[RDI], vmx_guest[vm].gpr[R8], vmx_guest[vm].gpr[R9],
                                       vmx_guest[vm].gpr[R10], vmx_guest[vm].gpr[R11], vmx_guest[vm].gpr[R12],
                                       vmx_guest[vm].gpr[R13], vmx_guest[vm].gpr[R14], vmx_guest[vm].gpr[R15]);
    }
    uint64_t value = machine_guest_register(RAX);
    vmx_guest[vm].gpr[RAX] = value;
    value = machine_guest_register(RCX);
    vmx_guest[vm].gpr[RCX] = value;
    value = machine_guest_register(RDX);
    vmx_guest[vm].gpr[RDX] = value;
    value = machine_guest_register(RBX);
    vmx_guest[vm].gpr[RBX] = value;
    value = machine_guest_register(RBP);
    vmx_guest[vm].gpr[RBP] = value;
    value = machine_guest_register(RSI);
    vmx_guest[vm].gpr[RSI] = value;
    value = machine_guest_register(RDI);
    vmx_guest[vm].gpr[RDI] = value;
    value = machine_guest_register(R8);
    vmx_guest[vm].gpr[R8] = value;
    value = machine_guest_register(R9);
    vmx_guest[vm].gpr[R9] = value;
    value = machine_guest_register(R10);
    vmx_guest[vm].gpr[R10] = value;
    value = machine_guest_register(R11);
    vmx_guest[vm].gpr[R11] = value;
    value = machine_guest_register(R12);
    vmx_guest[vm].gpr[R12] = value;
    value = machine_guest_register(R13);
    vmx_guest[vm].gpr[R13] = value;
    value = machine_guest_register(R14);
    vmx_guest[vm].gpr[R14] = value;
    value = machine_guest_register(R15);
    vmx_guest[vm].gpr[R15] = value;
    return refused;
}

/* The guest's translations are dropped at its next entry, on whichever CPU. */
void arch_vcpu_flush(uint32_t vm)
{
    uint32_t on_vmx = guest_on_vmx();
    if (on_vmx != 0u) {
        vmx_guest[vm].flush = 1u;
    } else {
        svm_guest[vm].flush = 1u;
    }
}
