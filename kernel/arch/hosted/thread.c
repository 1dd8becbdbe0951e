/* Threads: user contexts as plain words, kernel contexts with <ucontext.h>. Each switch is reported to the
 * sanitizers. */
#include <stdlib.h>
#include <ucontext.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (128u * 1024u)
#define USER_ADDRESS_MASK 0x00007ffffffffffful
#define USER_FLAG_MASK 0x240dd5ul
#define USER_FLAG_ALWAYS 0x202ul

struct context {
    ucontext_t ucontext;
    char *stack;        /* NULL: the POSIX thread's own (idle threads) */
    void *fiber;        /* ThreadSanitizer's handle */
    void *fake_stack;   /* AddressSanitizer's, while switched away */
    const void *bottom; /* of the stack; AddressSanitizer reports it for the POSIX thread's own */
    size_t size;
    uint32_t ends;
    _Alignas(64) uint64_t word[UCTX_WORDS];
};

static struct context contexts[NUM_THREAD];
static uint32_t running[NUM_CPU];
static uint32_t previous[NUM_CPU]; /* thread this CPU switched away from last */
static uint64_t switches;
static uint32_t fpu_uses;
static uint32_t fpu_left[NUM_CPU]; /* each CPU its own */
static uint32_t is_simulated;
static void (*user_program)(uint32_t thread);

void trap_leave(void) __attribute__((weak));
void trap_end(void) __attribute__((weak));

void hosted_threads_reset(void)
{
    for (uint32_t thread = 0; thread < NUM_THREAD; thread++) {
        contexts[thread].ends = 0;
        for (uint32_t word = 0; word < UCTX_WORDS; word++) {
            contexts[thread].word[word] = 0;
        }
    }
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        running[cpu] = cpu;
    }
    switches = 0;
    fpu_uses = 0;
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        fpu_left[cpu] = 1;
    }
    is_simulated = 0;
    user_program = NULL;
}

uint64_t arch_uctx_get(uint32_t thread, uint32_t word)
{
    if (thread >= NUM_THREAD || word >= UCTX_WORDS) {
        hosted_fail("no such user context word", word);
    }
    return contexts[thread].word[word];
}

void arch_uctx_set(uint32_t thread, uint32_t word, uint64_t value)
{
    if (thread >= NUM_THREAD || word >= UCTX_WORDS || word == UCTX_CS || word == UCTX_SS) {
        hosted_fail("no such user context word to set", word);
    }
    if (word == UCTX_RIP) {
        value &= USER_ADDRESS_MASK;
    }
    if (word == UCTX_RFLAGS) {
        value = (value & USER_FLAG_MASK) | USER_FLAG_ALWAYS;
    }
    contexts[thread].word[word] = value;
}

void arch_fpu_reset(uint32_t thread)
{
    (void)thread;
}

void arch_fpu_use(void)
{
    __atomic_fetch_add(&fpu_uses, 1, __ATOMIC_RELAXED);
    fpu_left[hosted_cpu] = 0;
}

uint32_t arch_fpu_left(void)
{
    return fpu_left[hosted_cpu];
}

void arch_fpu_leave(void)
{
    fpu_left[hosted_cpu] = 1;
}

void arch_fpu_unused(void)
{
    if (fpu_left[hosted_cpu] != 1) {
        hosted_fail("the vector unit is in use by thread", arch_current());
    }
}

uint32_t hosted_fpu_uses(void)
{
    return __atomic_load_n(&fpu_uses, __ATOMIC_RELAXED);
}

void hosted_set_user(void (*user)(uint32_t thread))
{
    user_program = user;
}

void hosted_simulate_switch(uint32_t simulate)
{
    is_simulated = simulate;
}

uint32_t hosted_running(uint32_t cpu)
{
    return running[cpu];
}

uint64_t hosted_switches(void)
{
    return __atomic_load_n(&switches, __ATOMIC_RELAXED);
}

/* Runs on the new stack right after a switch. */
static void arrived(uint32_t thread)
{
#if defined(__SANITIZE_ADDRESS__)
    struct context *from = &contexts[previous[hosted_cpu]];

    __sanitizer_finish_switch_fiber(contexts[thread].fake_stack, &from->bottom, &from->size);
#else
    (void)thread;
#endif
}

static void thread_main(unsigned thread)
{
    arrived(thread);
    if (trap_leave) {
        trap_leave();
    }
    if (trap_end && contexts[thread].ends) {
        trap_end();
    }
    if (!user_program) {
        hosted_fail("the test set no user program for thread", thread);
    }
    user_program(thread);
    hosted_fail("the user program returned, thread", thread);
}

void arch_thread_init(uint32_t thread)
{
    struct context *context = &contexts[thread];

    context->ends = 0;
    for (uint32_t word = 0; word < UCTX_WORDS; word++) {
        context->word[word] = 0;
    }
    context->word[UCTX_RFLAGS] = USER_FLAG_ALWAYS;
    if (is_simulated) {
        return;
    }
    if (!context->stack) {
        context->stack = malloc(STACK_BYTES);
        if (!context->stack) {
            hosted_fail("no memory for the stack of thread", thread);
        }
        context->bottom = context->stack;
        context->size = STACK_BYTES;
    }
#if defined(__SANITIZE_THREAD__)
    if (context->fiber) {
        __tsan_destroy_fiber(context->fiber);
    }
    context->fiber = __tsan_create_fiber(0);
#endif
    context->fake_stack = NULL;
    getcontext(&context->ucontext);
    context->ucontext.uc_stack.ss_sp = context->stack;
    context->ucontext.uc_stack.ss_size = STACK_BYTES;
    context->ucontext.uc_link = NULL;
    makecontext(&context->ucontext, (void (*)(void))thread_main, 1, thread);
}

void arch_end_at_exit(uint32_t thread)
{
    contexts[thread].ends = 1;
}

uint32_t arch_ends_at_exit(uint32_t thread)
{
    return contexts[thread].ends;
}

uint32_t arch_current(void)
{
    return running[hosted_cpu];
}

uint32_t arch_current_of(uint32_t cpu)
{
    return running[cpu];
}

void arch_switch(uint32_t to)
{
    uint32_t from = running[hosted_cpu];

    if (from == to || to >= NUM_THREAD) {
        hosted_fail("wrong switch to thread", to);
    }
    running[hosted_cpu] = to;
    arch_fpu_unused(); /* else `to` could read the registers of `from` */
    __atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
    if (is_simulated) {
        return;
    }
    previous[hosted_cpu] = from;
#if defined(__SANITIZE_THREAD__)
    if (!contexts[from].stack) {
        contexts[from].fiber = __tsan_get_current_fiber();
    }
    __tsan_switch_to_fiber(contexts[to].fiber, 0); /* synchronised: the threads of a CPU run in order */
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&contexts[from].fake_stack, contexts[to].bottom, contexts[to].size);
#endif
    swapcontext(&contexts[from].ucontext, &contexts[to].ucontext);
    arrived(from);
}
