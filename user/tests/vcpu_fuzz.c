/* A monitor that puts random values into the vcpu page and runs random memory as a guest, `rounds` times from `seed`.
 * Whatever comes, each run must end in an exit or a refusal by its deadline, and the system goes on. Prints how often each
 * exit came and `VCPU-FUZZ-DONE`.
 *
 * The code is random bytes, or instructions that reach for the processor: control, debug and model-specific registers, CPUID,
 * ports, descriptor tables, interrupts, other guests' instructions. Half of the rounds set breakpoints, at code of the
 * kernel and of this monitor too.
 *
 * Most rounds change a few words of a state that can run, in one of the processor's modes; so many of them get past the
 * entry checks and do harm inside, where they may. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/syscall.h"

#define VCPU_ADDRESS 0x10000000ul
#define MEMORY_ADDRESS 0x20000000ul
#define MEMORY_PAGES 64ul
#define RUNS_A_ROUND 8u
#define RUN_TIME 200000ul  /* nanoseconds */
#define LATE 10000000000ul /* a run that ends this long after its deadline has been stuck; a busy host takes seconds */
#define TABLES 0x20000ul   /* guest-physical: three page tables for long mode */
#define NUM_REASON 18u

enum { ES, CS, SS, DS, FS, GS, LDTR, TR };

static volatile uint64_t *const vcpu = (volatile uint64_t *)VCPU_ADDRESS;
static volatile uint64_t *const memory = (volatile uint64_t *)MEMORY_ADDRESS;
static struct random random;
static uint64_t reasons[NUM_REASON];
static uint32_t vm;

static uint64_t draw(uint64_t bound)
{
    return random_next(&random) % bound;
}

static void set_segment(uint32_t index, uint64_t selector, uint64_t attributes, uint64_t limit)
{
    vcpu[VCPU_SEGMENT + 2 * index] = selector | attributes << 16 | limit << 32;
    vcpu[VCPU_SEGMENT + 2 * index + 1] = 0;
}

static void base_state(void)
{
    uint64_t mode = draw(3); /* real, protected, long */
    uint64_t code = mode == 0 ? 0x09b : mode == 1 ? 0xc9b : 0xa9b;
    uint64_t limit = mode == 0 ? 0xffff : 0xffffffff;
    for (uint32_t i = VCPU_GPR; i < VCPU_WORDS; i++) {
        vcpu[i] = 0;
    }
    for (uint32_t i = 0; i < 16; i++) {
        vcpu[VCPU_GPR + i] = draw(MEMORY_PAGES * PAGE_SIZE);
    }
    for (uint32_t i = ES; i <= GS; i++) {
        set_segment(i, 8, mode == 0 ? 0x093 : 0xc93, limit);
    }
    set_segment(CS, 8, code, limit);
    set_segment(LDTR, 0, 0x082, 0xffff);
    set_segment(TR, 0, 0x08b, 0xffff);
    vcpu[VCPU_IDTR] = 0x3ff;
    vcpu[VCPU_GDTR] = 0xff;
    vcpu[VCPU_RIP] = draw(mode == 0 ? 0x10000 : MEMORY_PAGES * PAGE_SIZE);
    vcpu[VCPU_RFLAGS] = 2 | draw(2) << 9;
    vcpu[VCPU_CR0] = mode == 0 ? 0x10 : mode == 1 ? 0x11 : 0x80000011;
    vcpu[VCPU_CR3] = TABLES;
    vcpu[VCPU_CR4] = mode == 2 ? 0x620 : 0x200;
    vcpu[VCPU_EFER] = mode == 2 ? 0x500 : 0;
    vcpu[VCPU_DR6] = 0xffff0ff0;
    vcpu[VCPU_DR7] = 0x400;
    vcpu[VCPU_PAT] = 0x0007040600070406ul;
    vcpu[VCPU_INJECT] = 0;
    vcpu[VCPU_CONTROL] = 0;
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_CONTROL | VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_MSRS | VCPU_CHANGED_DEBUG;
}

static uint64_t odd_value(void)
{
    switch (draw(5)) {
    case 0:
        return 1ul << draw(64);
    case 1:
        return ~0ul << draw(64);
    case 2:
        return draw(0x10000);
    case 3:
        return 0xffffffff80000000ul + draw(0x1000000);
    default:
        return random_next(&random);
    }
}

static void disturb(void)
{
    uint64_t words = draw(4) == 0 ? draw(VCPU_WORDS) : draw(4);
    for (uint64_t i = 0; i < words; i++) {
        uint64_t at = draw(VCPU_WORDS);
        vcpu[at] = draw(3) == 0 ? vcpu[at] ^ 1ul << draw(64) : odd_value();
    }
    if (draw(4) == 0) {
        vcpu[VCPU_INJECT] = INJECT_VALID | draw(8) << 8 | draw(256) | draw(2) << 11 | draw(1ul << 32) << 32;
    }
    if (draw(8) == 0) {
        vcpu[VCPU_CONTROL] = random_next(&random);
    }
}

/* Instructions that reach for the processor, in all modes. */
static const struct {
    uint8_t bytes;
    uint8_t code[10];
} reaching[] = {
    {3, {0x0f, 0x20, 0xc0}}, /* mov of cr0, cr4, cr3, cr8 from and to eax */
    {3, {0x0f, 0x22, 0xc0}},
    {3, {0x0f, 0x20, 0xe0}},
    {3, {0x0f, 0x22, 0xe0}},
    {3, {0x0f, 0x22, 0xd8}},
    {4, {0x44, 0x0f, 0x20, 0xc0}},
    {4, {0x44, 0x0f, 0x22, 0xc0}},
    {3, {0x0f, 0x23, 0xc0}}, /* mov to dr0, dr1, dr2, dr3, dr6, dr7; from dr6, dr7 */
    {3, {0x0f, 0x23, 0xc8}},
    {3, {0x0f, 0x23, 0xd0}},
    {3, {0x0f, 0x23, 0xd8}},
    {3, {0x0f, 0x23, 0xf0}},
    {3, {0x0f, 0x23, 0xf8}},
    {3, {0x0f, 0x21, 0xf0}},
    {3, {0x0f, 0x21, 0xf8}},
    {2, {0x0f, 0xa2}}, /* cpuid */
    {2, {0x0f, 0x32}}, /* rdmsr, wrmsr, rdtsc, rdpmc */
    {2, {0x0f, 0x30}},
    {2, {0x0f, 0x31}},
    {2, {0x0f, 0x33}},
    {2, {0xe6, 0x20}}, /* out and in: interrupt controllers, timer, ports in dx, strings */
    {2, {0xe4, 0x21}},
    {2, {0xe6, 0x43}},
    {2, {0xe4, 0x40}},
    {1, {0xee}},
    {1, {0xed}},
    {2, {0xf3, 0x6c}},
    {2, {0xf3, 0x6e}},
    {1, {0xf1}}, /* int1, int3, int, iret, hlt, cli, sti, popf, pushf */
    {1, {0xcc}},
    {2, {0xcd, 0x80}},
    {1, {0xcf}},
    {1, {0xf4}},
    {1, {0xfa}},
    {1, {0xfb}},
    {1, {0x9d}},
    {1, {0x9c}},
    {3, {0x0f, 0x01, 0x10}}, /* lgdt, lidt, lmsw, invlpg; lldt, ltr */
    {3, {0x0f, 0x01, 0x18}},
    {3, {0x0f, 0x01, 0xf0}},
    {3, {0x0f, 0x01, 0x38}},
    {3, {0x0f, 0x00, 0xd0}},
    {3, {0x0f, 0x00, 0xd8}},
    {3, {0x0f, 0x01, 0xd8}}, /* vmrun, vmmcall, vmload, vmsave, stgi, clgi, skinit, invlpga */
    {3, {0x0f, 0x01, 0xd9}},
    {3, {0x0f, 0x01, 0xda}},
    {3, {0x0f, 0x01, 0xdb}},
    {3, {0x0f, 0x01, 0xdc}},
    {3, {0x0f, 0x01, 0xdd}},
    {3, {0x0f, 0x01, 0xde}},
    {3, {0x0f, 0x01, 0xdf}},
    {3, {0x0f, 0x01, 0xc8}}, /* monitor, mwait, swapgs, rdtscp, xgetbv */
    {3, {0x0f, 0x01, 0xc9}},
    {3, {0x0f, 0x01, 0xf8}},
    {3, {0x0f, 0x01, 0xf9}},
    {3, {0x0f, 0x01, 0xd0}},
    {2, {0x0f, 0x09}}, /* wbinvd, invd, syscall, sysret, sysenter, sysexit */
    {2, {0x0f, 0x08}},
    {2, {0x0f, 0x05}},
    {2, {0x0f, 0x07}},
    {2, {0x0f, 0x34}},
    {2, {0x0f, 0x35}},
    {5, {0xb8, 0x00, 0x02, 0x00, 0x00}}, /* mov of numbers to eax, ecx, edx */
    {5, {0xb8, 0x11, 0x00, 0x00, 0x80}},
    {5, {0xb8, 0xff, 0xff, 0xff, 0xff}},
    {5, {0xb9, 0x80, 0x00, 0x00, 0xc0}},
    {5, {0xb9, 0x17, 0x01, 0x01, 0xc0}},
    {5, {0xb9, 0x1b, 0x00, 0x00, 0x00}},
    {5, {0xba, 0xf8, 0x03, 0x00, 0x00}},
};
#define NUM_REACHING (sizeof reaching / sizeof reaching[0])

/* Fills the memory below the tables with such instructions, one behind the other. */
static void reaching_code(void)
{
    volatile uint8_t *byte = (volatile uint8_t *)memory;
    for (uint64_t at = 0; at + sizeof reaching[0].code <= TABLES;) {
        uint64_t i = draw(NUM_REACHING);
        for (uint32_t k = 0; k < reaching[i].bytes; k++) {
            byte[at++] = reaching[i].code[k];
        }
    }
}

/* Breakpoints of all kinds, at the guest's own code, at this monitor's, and at the kernel's. */
static void debug_state(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        vcpu[VCPU_DR0 + i] = draw(3) == 0   ? draw(TABLES)
                             : draw(2) == 0 ? 0x400000 + draw(0x8000)
                                            : 0xffffffff80200000ul + draw(0x1800) * 16;
    }
    vcpu[VCPU_DR7] = random_next(&random);
    vcpu[VCPU_DR6] = random_next(&random);
    vcpu[VCPU_RFLAGS] ^= draw(2) << 8; /* single steps */
}

/* A move of a debug register that exits, without its prefixes: whatever the guest meant, the register gets an odd value. */
static void move_debug_register(void)
{
    uint64_t number = vcpu[VCPU_EXIT_INFO1] & 0xf;
    if (vcpu[VCPU_EXIT_INFO1] >> 8 != 0) {
        vcpu[number < 4 ? VCPU_DR0 + number : number == 6 ? VCPU_DR6 : VCPU_DR7] = odd_value();
        vcpu[VCPU_CHANGED] |= VCPU_CHANGED_DEBUG;
    }
    vcpu[VCPU_RIP] += 3;
}

/* Random code, and tables that map the first 2 MiB of the guest to itself. */
static void new_memory(void)
{
    for (uint64_t i = 0; i < MEMORY_PAGES * PAGE_SIZE / 8; i++) {
        memory[i] = random_next(&random);
    }
    if (draw(2) == 0) {
        reaching_code();
    }
    for (uint64_t i = 0; i < 512; i++) {
        memory[TABLES / 8 + i] = TABLES + 0x1000 + 7;
        memory[TABLES / 8 + 512 + i] = TABLES + 0x2000 + 7;
        memory[TABLES / 8 + 1024 + i] = 0x87;
    }
}

static void run(void)
{
    uint64_t deadline = sys_clock() + RUN_TIME;
    uint64_t reason = 0;
    uint32_t status = sys_vcpu_run(vm, deadline, NO_SLOT, &reason);
    uint64_t late = sys_clock() - deadline;
    if (status != STATUS_OK) {
        panic("run refused with error %u\n", status);
    }
    if (reason == VCPU_EXIT_NONE || reason >= NUM_REASON) {
        panic("exit %lu does not exist\n", reason);
    }
    if (late < 1ul << 63 && late > LATE) {
        panic("exit %lu, %lu ns after the deadline\n", reason, late);
    }
    reasons[reason]++;
    if (reason == VCPU_EXIT_DEBUG_REGISTER) {
        move_debug_register();
    }
    if (vcpu[VCPU_EXIT_NEXT_RIP] != 0) {
        vcpu[VCPU_RIP] = vcpu[VCPU_EXIT_NEXT_RIP];
    }
}

int main(void)
{
    uint64_t rounds = env_arg_u64("rounds", 2000);
    vm = env_slot_of_kind("vm");
    random.state = env_arg_u64("seed", 1) | 1;
    if (sys_vcpu_page(vm, VCPU_ADDRESS) != STATUS_OK ||
        sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE) != STATUS_OK ||
        sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES / 2, PROT_READ | PROT_WRITE | PROT_EXEC) != STATUS_OK ||
        sys_vm_map(vm, PAGE_SIZE * MEMORY_PAGES / 2, MEMORY_ADDRESS + PAGE_SIZE * MEMORY_PAGES / 2, MEMORY_PAGES / 2,
                   PROT_READ | PROT_WRITE) != STATUS_OK) {
        panic("no guest\n");
    }
    for (uint64_t round = 0; round < rounds; round++) {
        if (round % 64 == 0) {
            new_memory();
        }
        base_state();
        if (draw(2) == 0) {
            debug_state();
        }
        disturb();
        for (uint32_t i = 0; i < RUNS_A_ROUND; i++) {
            run();
        }
    }
    for (uint32_t i = 0; i < NUM_REASON; i++) {
        print("exit %u: %lu times\n", i, reasons[i]);
    }
    print("VCPU-FUZZ-DONE\n");
    return 0;
}
