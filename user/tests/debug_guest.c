/* A guest that sets breakpoints wherever it can: at code of its monitor and of the kernel. None may strike there. Then what
 * belongs to the guest: it reads what it wrote and what its monitor set. Prints `DEBUG-GUEST-DONE`. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "long_mode_guest.h"

/* Functions of the kernel begin at multiples of 16; its code lies at the beginning of its image. */
#define KERNEL_CODE 0xffffffff80200000ul
#define KERNEL_CODE_BYTES 0x20000ul
#define STEP 16ul
#define DR7_ALWAYS 0x400ul
#define DR7_ALL_ON 0xfful /* executions at any of the four, local and global */
#define DR6_ALWAYS 0xffff0ff0ul
#define PORT_SET 0x80u
#define PORT_READ 0x81u

/* rax rbx rcx rdx rsi: dr0 dr1 dr2 dr3 dr7 */
extern const uint8_t debug_begin[], debug_end[];
__asm__(".pushsection .rodata\n"
        ".globl debug_begin\n"
        "debug_begin:\n"
        "    mov %rax, %dr0\n    mov %rbx, %dr1\n    mov %rcx, %dr2\n    mov %rdx, %dr3\n    mov %rsi, %dr7\n"
        "    out %al, $0x80\n"
        "    mov %dr0, %rax\n    mov %dr1, %rbx\n    mov %dr2, %rcx\n    mov %dr3, %rdx\n    mov %dr7, %rsi\n"
        "    mov %dr6, %rdi\n"
        "    out %al, $0x81\n"
        "    jmp debug_begin\n"
        ".globl debug_end\n"
        "debug_end:\n"
        ".popsection\n");

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

static uint32_t vm;
static volatile uint64_t calls;

/* What the guest sets its breakpoint at. */
static __attribute__((noinline)) void victim(void)
{
    calls++;
}

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

/* MOV of a debug register, which is 3 bytes here: 0f, 21 (read) or 23, and the byte that names both registers. */
static void move_debug_register(void)
{
    uint8_t operands = memory[vcpu[VCPU_RIP] + 2];
    uint64_t number = vcpu[VCPU_EXIT_INFO1] & 0xf;
    volatile uint64_t *reg = &vcpu[VCPU_GPR + (operands & 7)];
    volatile uint64_t *debug = number < 4 ? &vcpu[VCPU_DR0 + number] : number == 6 ? &vcpu[VCPU_DR6] : &vcpu[VCPU_DR7];
    if (number != (operands >> 3 & 7) || number == 4 || number == 5) {
        panic("the exit names debug register %lu, the instruction %u\n", number, operands >> 3 & 7);
    }
    if (vcpu[VCPU_EXIT_INFO1] >> 8 != 0) {
        *debug = *reg;
        vcpu[VCPU_CHANGED] |= VCPU_CHANGED_DEBUG;
    } else {
        *reg = *debug;
    }
    vcpu[VCPU_RIP] += 3;
}

static void run_to(uint64_t port)
{
    uint64_t reason = VCPU_EXIT_NONE;
    do {
        require(sys_vcpu_run(vm, DEADLINE_NEVER, NO_SLOT, &reason), "running the guest");
        if (reason == VCPU_EXIT_DEBUG_REGISTER) {
            move_debug_register();
        }
    } while (reason == VCPU_EXIT_DEBUG_REGISTER);
    if (reason != VCPU_EXIT_IO || (vcpu[VCPU_EXIT_INFO1] & 0xffff) != port) {
        panic("exit %lu instead of port 0x%lx, at ip 0x%lx\n", reason, port, vcpu[VCPU_RIP]);
    }
    vcpu[VCPU_RIP] = vcpu[VCPU_EXIT_NEXT_RIP];
}

/* The guest sets its four registers to first, first + step and so on, and turns them on. */
static void set(uint64_t first, uint64_t step, uint64_t dr7)
{
    vcpu[VCPU_GPR + RAX] = first;
    vcpu[VCPU_GPR + RBX] = first + step;
    vcpu[VCPU_GPR + RCX] = first + 2 * step;
    vcpu[VCPU_GPR + RDX] = first + 3 * step;
    vcpu[VCPU_GPR + RSI] = dr7;
    vcpu[VCPU_RIP] = CODE_GPA;
    run_to(PORT_SET);
}

static void expect(const char *what, uint64_t got, uint64_t wanted)
{
    if (got != wanted) {
        panic("%s: 0x%lx instead of 0x%lx\n", what, got, wanted);
    }
}

static void read_back(uint64_t first, uint64_t step, uint64_t dr7)
{
    run_to(PORT_READ);
    expect("dr0 as the guest reads it", vcpu[VCPU_GPR + RAX], first);
    expect("dr1 as the guest reads it", vcpu[VCPU_GPR + RBX], first + step);
    expect("dr2 as the guest reads it", vcpu[VCPU_GPR + RCX], first + 2 * step);
    expect("dr3 as the guest reads it", vcpu[VCPU_GPR + RDX], first + 3 * step);
    expect("dr7 as the guest reads it", vcpu[VCPU_GPR + RSI] | DR7_ALWAYS, dr7 | DR7_ALWAYS);
    expect("dr6 as the guest reads it", vcpu[VCPU_GPR + RDI], DR6_ALWAYS);
    for (uint64_t i = 0; i < 4; i++) {
        expect("a debug register as the monitor reads it", vcpu[VCPU_DR0 + i], first + i * step);
    }
}

static void own_values(void)
{
    set(0x7000, 0x10, 0);
    read_back(0x7000, 0x10, 0);
    for (uint64_t i = 0; i < 4; i++) {
        vcpu[VCPU_DR0 + i] = 0xffff800000001000ul + i;
    }
    vcpu[VCPU_DR7] = DR7_ALWAYS;
    vcpu[VCPU_CHANGED] |= VCPU_CHANGED_DEBUG;
    vcpu[VCPU_RIP] = CODE_GPA + 17;
    read_back(0xffff800000001000ul, 1, 0);
    print("debug guest: reads what it and its monitor wrote\n");
}

int main(void)
{
    uint64_t before;
    vm = env_slot_of_kind("vm");
    require(sys_vcpu_page(vm, VCPU_ADDRESS), "the vcpu page");
    require(sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE), "mapping memory");
    require(sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE | PROT_EXEC), "mapping the guest");
    long_mode_code(debug_begin, debug_end);
    long_mode_tables();
    long_mode_start();

    set((uint64_t)&victim, 0, DR7_ALL_ON);
    before = calls;
    victim();
    expect("calls of the monitor's own function", calls, before + 1);
    print("debug guest: no breakpoint of its in the monitor\n");
    for (uint64_t at = 0; at < KERNEL_CODE_BYTES; at += 4 * STEP) {
        set(KERNEL_CODE + at, STEP, DR7_ALL_ON);
        sys_clock();
    }
    print("debug guest: no breakpoint of its in the kernel\n");
    set(0, 0, 0);
    own_values();
    print("DEBUG-GUEST-DONE\n");
    return 0;
}
