/* Threads of the caller's process. */
#include "abi.h"
#include "arch.h"
#include "process.h"
#include "sched.h"
#include "syscall_calls.h"
#include "uctx.h"

uint32_t syscall_yield(void)
{
    sched_yield();
    return STATUS_OK;
}

uint32_t syscall_thread_start(uint32_t current)
{
    uint64_t index = uctx_get(current, UCTX_RDI);
    uint64_t entry = uctx_get(current, UCTX_RSI);
    uint64_t stack = uctx_word(current, 0u);
    uint64_t argument = uctx_word(current, 1u);
    uint32_t pending = 0u;
    if (index == 0u || index >= NUM_THREAD) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t status = STATUS_RESTART;
    while (status == STATUS_RESTART && pending == 0u) {
        status = process_start_thread((uint32_t)index, entry, stack, argument);
        /* Behind the last step, too, whatever the answer is then: so that the step and the way out are two regions. */
        pending = arch_interrupt_pending();
    }
    return status;
}
