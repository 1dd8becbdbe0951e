/* A 32-bit guest without paging that begins at ring 3 and raises an interrupt: its processor takes the stack of ring 0 from
 * the task state segment, which the monitor says is busy, as it is on processors. Prints `RING-GUEST-DONE`. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define VCPU_ADDRESS 0x10000000ul
#define MEMORY_ADDRESS 0x20000000ul
#define MEMORY_PAGES 16ul
#define SECOND 1000000000ul

/* Guest-physical. */
#define CODE 0x1000ul
#define HANDLER 0x1100ul
#define GDT 0x2000ul
#define IDT 0x3000ul
#define TSS 0x4000ul
#define USER_STACK 0x6000ul
#define KERNEL_STACK 0x8000ul

#define VECTOR 0x20u
#define KERNEL_CODE 0x08ul
#define KERNEL_DATA 0x10ul
#define USER_CODE 0x1bul
#define USER_DATA 0x23ul
#define TASK 0x28ul
#define GPR_RSP 4u

enum { ES, CS, SS, DS, FS, GS, LDTR, TR };

static volatile uint64_t *const vcpu = (volatile uint64_t *)VCPU_ADDRESS;

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

static volatile uint8_t *byte_at(uint64_t gpa)
{
    return (volatile uint8_t *)(MEMORY_ADDRESS + gpa);
}

static volatile uint64_t *word_at(uint64_t gpa)
{
    return (volatile uint64_t *)(MEMORY_ADDRESS + gpa);
}

static void write_memory(void)
{
    *byte_at(CODE) = 0xcd; /* int VECTOR */
    *byte_at(CODE + 1) = VECTOR;
    *byte_at(HANDLER) = 0xf4; /* hlt */
    *word_at(GDT + KERNEL_CODE) = 0x00cf9b000000fffful;
    *word_at(GDT + KERNEL_DATA) = 0x00cf93000000fffful;
    *word_at(IDT + 8 * VECTOR) = HANDLER | KERNEL_CODE << 16 | 0xee00ul << 32; /* a gate that ring 3 may use */
    *word_at(TSS) = KERNEL_STACK << 32;
    *word_at(TSS + 8) = KERNEL_DATA;
}

static void set_segment(uint32_t index, uint64_t selector, uint64_t attributes, uint64_t limit, uint64_t base)
{
    vcpu[VCPU_SEGMENT + 2 * index] = selector | attributes << 16 | limit << 32;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = base;
}

static void set_state(void)
{
    for (uint32_t i = ES; i <= GS; i++) {
        set_segment(i, USER_DATA, 0xcf3, 0xffffffff, 0);
    }
    set_segment(CS, USER_CODE, 0xcfb, 0xffffffff, 0);
    set_segment(LDTR, 0, 0x082, 0xffff, 0);
    set_segment(TR, TASK, 0x08b, 0x67, TSS); /* busy, 32 bits */
    vcpu[VCPU_CPL] = 3;
    vcpu[VCPU_GDTR] = 0x17;
    vcpu[VCPU_GDTR + 1] = GDT;
    vcpu[VCPU_IDTR] = 0x7ff;
    vcpu[VCPU_IDTR + 1] = IDT;
    vcpu[VCPU_RIP] = CODE;
    vcpu[VCPU_RFLAGS] = 2;
    vcpu[VCPU_GPR + GPR_RSP] = USER_STACK;
    vcpu[VCPU_CR0] = 0x11;
    vcpu[VCPU_CR4] = 0;
    vcpu[VCPU_EFER] = 0;
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_CONTROL;
}

int main(void)
{
    uint32_t vm = env_slot_of_kind("vm");
    uint64_t reason = VCPU_EXIT_NONE;

    require(sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE), "mapping memory");
    require(sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE | PROT_EXEC),
            "giving it to the guest");
    require(sys_vcpu_page(vm, VCPU_ADDRESS), "making the vcpu");
    write_memory();
    set_state();
    require(sys_vcpu_run(vm, sys_clock() + SECOND, NO_SLOT, &reason), "running the guest");
    if (reason != VCPU_EXIT_HALT || vcpu[VCPU_RIP] != HANDLER || vcpu[VCPU_CPL] != 0) {
        panic("exit %lu at 0x%lx, ring %lu\n", reason, vcpu[VCPU_RIP], vcpu[VCPU_CPL]);
    }
    if (vcpu[VCPU_GPR + GPR_RSP] != KERNEL_STACK - 20) {
        panic("the stack is at 0x%lx\n", vcpu[VCPU_GPR + GPR_RSP]);
    }
    print("RING-GUEST-DONE\n");
    return 0;
}
