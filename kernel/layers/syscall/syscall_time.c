/* The clock, and waiting until a time. */
#include "abi.h"
#include "arch.h"
#include "notify.h"
#include "sched.h"
#include "syscall_calls.h"
#include "thread.h"
#include "timer.h"
#include "uctx.h"

uint32_t syscall_sleep(uint32_t current)
{
    uint64_t deadline = uctx_get(current, UCTX_RDI);
    uint64_t now = timer_now();
    if (deadline > now) {
        thread_set_wait(current, WAIT_SLEEP, NONE);
        if (deadline != NOTIFY_FOREVER) {
            sched_set_deadline(current, deadline);
        }
        sched_prepare_block(current);
        sched_block();
    }
    return STATUS_OK;
}

uint32_t syscall_clock(uint32_t current)
{
    uint64_t now = timer_now();
    uctx_set(current, UCTX_RDI, now);
    return STATUS_OK;
}
