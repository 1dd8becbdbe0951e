/* User contexts and kernel stacks of threads. */
#include "cpu/mitigations.h"
#include "cpu/percpu.h"

#define USER_ADDRESS_MASK 0x00007ffffffffffful
#define USER_FLAG_MASK 0x240dd5ul /* ID AC OF DF TF SF ZF AF PF CF */
#define USER_FLAG_ALWAYS 0x202ul  /* IF and the constant bit */

extern void arch_thread_start(void);

void thread_records_init(void)
{
    for (uint32_t thread = 0; thread < NUM_THREAD; thread++) {
        arch_threads[thread].stack_top = STACK_TOP(thread);
        arch_threads[thread].fpu_fresh = 1;
    }
}

uint64_t arch_uctx_get(uint32_t thread, uint32_t word)
{
    return arch_threads[thread].word[word];
}

void arch_uctx_set(uint32_t thread, uint32_t word, uint64_t value)
{
    if (word == UCTX_RIP) {
        value = value & USER_ADDRESS_MASK;
    }
    if (word == UCTX_RFLAGS) {
        value = (value & USER_FLAG_MASK) | USER_FLAG_ALWAYS;
    }
    arch_threads[thread].word[word] = value;
}

void arch_end_at_exit(uint32_t thread)
{
    arch_threads[thread].at_exit |= EXIT_ENDS;
}

uint32_t arch_ends_at_exit(uint32_t thread)
{
    return arch_threads[thread].at_exit / EXIT_ENDS;
}

void arch_thread_init(uint32_t thread)
{
    struct arch_thread *record = &arch_threads[thread];
    uint64_t *stack = (uint64_t *)record->stack_top - 1;

    /* A string instruction, which takes half of a loop's time: interrupts wait for it. */
    __builtin_memset(record->word, 0, sizeof record->word);
    record->at_exit = mitigations_at_exit;
    record->word[UCTX_CS] = SELECTOR_USER_CODE;
    record->word[UCTX_SS] = SELECTOR_USER_DATA;
    record->word[UCTX_RFLAGS] = USER_FLAG_ALWAYS;
    *stack = (uint64_t)&arch_thread_start; /* where arch_switch returns to */
    record->kernel_rsp = (uint64_t)stack;
}
