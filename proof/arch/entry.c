/* Entry from and exit to user mode, and switches between threads.
 *
 * A routine that is entered from user mode finds GS with the user's base, its own thread's number and record in the CPU's
 * record, and that thread's kernel stack empty. A call comes back on the thread that made it. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define EXIT_ENDS 0x80000000u

#define USER_CODE 0x2bul
#define USER_DATA 0x23ul
#define USER_FLAGS 0x202ul

#define VECTOR_NMI 2u
#define VECTOR_DOUBLE_FAULT 8u
#define VECTOR_PAGE_FAULT 14u
#define VECTOR_MACHINE_CHECK 18u
#define WITH_ERROR_CODE 0x60227d00u /* vectors for which the processor saves an error code, bit by bit */

struct arch_threads {
    uint64_t word[UCTX_WORDS];
    uint64_t kernel_rsp;
    uint64_t stack_top;
    uint32_t fpu_fresh;
    uint32_t at_exit;
    uint32_t spare[10];
};

static struct arch_threads arch_threads[NUM_THREAD];

uint64_t arch_uctx_get(uint32_t thread, uint32_t word)
{
    return arch_threads[thread].word[word];
}

void arch_end_at_exit(uint32_t thread)
{
    arch_threads[thread].at_exit = arch_threads[thread].at_exit | EXIT_ENDS;
}

uint32_t arch_ends_at_exit(uint32_t thread)
{
    return arch_threads[thread].at_exit / EXIT_ENDS;
}

/* A new context, and a kernel stack on which the first switch finds arch_thread_start. */
void arch_thread_init(uint32_t thread)
{
    for (uint32_t i = 0u; i < UCTX_WORDS; i = i + 1u) {
        arch_threads[thread].word[i] = 0ul;
    }
    arch_threads[thread].word[UCTX_CS] = USER_CODE;
    arch_threads[thread].word[UCTX_SS] = USER_DATA;
    arch_threads[thread].word[UCTX_RFLAGS] = USER_FLAGS;
    uint32_t chosen = mitigations_chosen();
    arch_threads[thread].at_exit = chosen;
    uint64_t stack = arch_threads[thread].stack_top - 8ul;
    uint64_t start = machine_thread_start();
    machine_write64(stack, start);
    arch_threads[thread].kernel_rsp = stack;
}

uint32_t thread_fpu_fresh(uint32_t thread)
{
    return arch_threads[thread].fpu_fresh;
}

void thread_set_fpu_fresh(uint32_t thread, uint32_t fresh)
{
    arch_threads[thread].fpu_fresh = fresh;
}

void arch_fpu_reset(uint32_t thread)
{
    arch_threads[thread].fpu_fresh = 1u;
}

/* What is to be done before a thread goes on in user mode; it may end instead. 1: GS is to be cleared, with the user's base. */
static uint32_t entry_leave(uint32_t t)
{
    uint32_t clears = 0u;
    uint32_t at_exit = arch_threads[t].at_exit;
    if (at_exit != 0u) {
        if ((at_exit & EXIT_ENDS) != 0u) {
            trap_end();
            machine_undefined();
        }
        clears = mitigations_leave();
    }
    return clears;
}

/* GS has the user's base from here on. */
static void entry_leave_gs(uint32_t clears)
{
    machine_swap_gs();
    if (clears != 0u) {
        machine_load_gs(0u);
    }
}

/* All registers but RCX and R11. */
static void entry_save(uint32_t t)
{
    uint64_t value = machine_register(RAX);
    arch_threads[t].word[UCTX_RAX] = value;
    value = machine_register(RBX);
    arch_threads[t].word[UCTX_RBX] = value;
    value = machine_register(RDX);
    arch_threads[t].word[UCTX_RDX] = value;
    value = machine_register(RSI);
    arch_threads[t].word[UCTX_RSI] = value;
    value = machine_register(RDI);
    arch_threads[t].word[UCTX_RDI] = value;
    value = machine_register(RBP);
    arch_threads[t].word[UCTX_RBP] = value;
    value = machine_register(R8);
    arch_threads[t].word[UCTX_R8] = value;
    value = machine_register(R9);
    arch_threads[t].word[UCTX_R9] = value;
    value = machine_register(R10);
    arch_threads[t].word[UCTX_R10] = value;
    value = machine_register(R12);
    arch_threads[t].word[UCTX_R12] = value;
    value = machine_register(R13);
    arch_threads[t].word[UCTX_R13] = value;
    value = machine_register(R14);
    arch_threads[t].word[UCTX_R14] = value;
    value = machine_register(R15);
    arch_threads[t].word[UCTX_R15] = value;
}

/* `syscall`: the processor has put RIP into RCX and the flags into R11. */
void arch_syscall_entry(void)
{
    machine_swap_gs();
    uint32_t t = arch_current();
    uint64_t rdi = machine_register(RDI);
    uint64_t rsi = machine_register(RSI);
    uint64_t rsp = machine_register(RSP);
    cpu_set_scratch(rsp);
    arch_threads[t].word[UCTX_RSP] = rsp;
    uint64_t value = machine_register(RCX);
    arch_threads[t].word[UCTX_RIP] = value;
    value = machine_register(R11);
    arch_threads[t].word[UCTX_RFLAGS] = value;
    entry_save(t);
    trap_syscall(rdi, rsi);
    uint32_t clears = entry_leave(t);
    entry_leave_gs(clears);
    machine_sysret(arch_threads[t].word[UCTX_RAX], arch_threads[t].word[UCTX_RBX], arch_threads[t].word[UCTX_RIP],
                   arch_threads[t].word[UCTX_RDX], arch_threads[t].word[UCTX_RSI], arch_threads[t].word[UCTX_RDI],
                   arch_threads[t].word[UCTX_RBP], arch_threads[t].word[UCTX_R8], arch_threads[t].word[UCTX_R9],
                   arch_threads[t].word[UCTX_R10], arch_threads[t].word[UCTX_RFLAGS], arch_threads[t].word[UCTX_R12],
                   arch_threads[t].word[UCTX_R13], arch_threads[t].word[UCTX_R14], arch_threads[t].word[UCTX_R15],
                   arch_threads[t].word[UCTX_RSP]);
}

void arch_user_return(void)
{
    uint32_t t = arch_current();
    uint32_t clears = entry_leave(t);
    entry_leave_gs(clears);
    machine_iret(arch_threads[t].word[UCTX_RAX], arch_threads[t].word[UCTX_RBX], arch_threads[t].word[UCTX_RCX],
                 arch_threads[t].word[UCTX_RDX], arch_threads[t].word[UCTX_RSI], arch_threads[t].word[UCTX_RDI],
                 arch_threads[t].word[UCTX_RBP], arch_threads[t].word[UCTX_R8], arch_threads[t].word[UCTX_R9],
                 arch_threads[t].word[UCTX_R10], arch_threads[t].word[UCTX_R11], arch_threads[t].word[UCTX_R12],
                 arch_threads[t].word[UCTX_R13], arch_threads[t].word[UCTX_R14], arch_threads[t].word[UCTX_R15],
                 arch_threads[t].word[UCTX_RIP], arch_threads[t].word[UCTX_CS], arch_threads[t].word[UCTX_RFLAGS],
                 arch_threads[t].word[UCTX_RSP], arch_threads[t].word[UCTX_SS]);
}

/* Where a thread's first switch goes on. */
void arch_thread_start(void)
{
    trap_leave();
    arch_user_return();
}

void arch_switch(uint32_t to)
{
    uint32_t from = arch_current();
    uint64_t rsp = machine_register(RSP);
    arch_threads[from].kernel_rsp = rsp;
    cpu_set_current(to);
    rsp = arch_threads[to].kernel_rsp;
#if DEBUG
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        machine_undefined(); /* `to` could read the registers */
    }
#endif
    machine_continue(rsp);
}

static void interrupt_from_user(uint32_t vector, uint32_t has_code)
{
    uint32_t t = arch_current();
    uint64_t cs = arch_threads[t].word[UCTX_CS]; /* saved by the processor, as RIP, the flags, RSP and SS */
    if (has_code == 0u) {
        arch_threads[t].word[UCTX_ERROR_CODE] = 0ul;
    }
    arch_threads[t].word[UCTX_VECTOR] = (uint64_t)vector;
    machine_swap_gs();
    entry_save(t);
    uint64_t value = machine_register(RCX);
    arch_threads[t].word[UCTX_RCX] = value;
    value = machine_register(R11);
    arch_threads[t].word[UCTX_R11] = value;
    if (vector == VECTOR_PAGE_FAULT) {
        value = machine_read_cr2();
        arch_threads[t].word[UCTX_FAULT_ADDRESS] = value;
    }
    if (vector >= VECTOR_BASE) {
        trap_interrupt(vector);
    } else {
        trap_exception();
    }
    arch_user_return();
}

/* An exception or interrupt. In the kernel interrupts come in windows alone, and an exception is fatal. */
void arch_vector_stubs(uint32_t vector, uint32_t from_user)
{
    if (vector == VECTOR_NMI) {
        arch_nmi_entry(vector);
    } else if (vector == VECTOR_DOUBLE_FAULT || vector == VECTOR_MACHINE_CHECK) {
        arch_fatal_entry(vector);
    } else if (from_user != 0u) {
        uint32_t has_code = 0u;
        if (vector < VECTOR_BASE) {
            has_code = (WITH_ERROR_CODE >> vector) & 1u;
        }
        interrupt_from_user(vector, has_code);
    } else if (vector < VECTOR_BASE) {
        arch_fatal_entry(vector);
    } else {
        cpu_set_vector(vector);
        machine_close_window();
    }
}

static uint64_t nmi_count;
static uint32_t machine_stopped;

/* Counted and otherwise ignored, unless the machine has been stopped. */
void arch_nmi_entry(uint32_t vector)
{
    nmi_count = nmi_count + 1ul;
    if (machine_stopped != 0u) {
        uint32_t on = 1u;
        while (on != 0u) {
            machine_interrupts_off();
            machine_halt();
        }
    }
    machine_resume();
}

/* A late interrupt of the masked old controller, or a spurious one. */
void arch_ignore_entry(void)
{
    machine_resume();
}

/* In place of a call that does not come back. */
static void halt(void)
{
    uint32_t on = 1u;
    while (on != 0u) {
        machine_halt();
    }
}

/* An exception in the kernel, which is not survived: all registers are reported. GS may hold the user's base. */
void arch_fatal_entry(uint32_t vector)
{
    uint64_t rax = machine_register(RAX);
    uint64_t rbx = machine_register(RBX);
    uint64_t rcx = machine_register(RCX);
    uint64_t rdx = machine_register(RDX);
    uint64_t rsi = machine_register(RSI);
    uint64_t rdi = machine_register(RDI);
    uint64_t rbp = machine_register(RBP);
    uint64_t r8 = machine_register(R8);
    uint64_t r9 = machine_register(R9);
    uint64_t r10 = machine_register(R10);
    uint64_t r11 = machine_register(R11);
    uint64_t r12 = machine_register(R12);
    uint64_t r13 = machine_register(R13);
    uint64_t r14 = machine_register(R14);
    uint64_t r15 = machine_register(R15);
    machine_report(vector, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15);
    halt();
}

void arch_run_on_stack(uint64_t stack, uint64_t function)
{
    machine_call_on(stack, function);
    halt();
}
