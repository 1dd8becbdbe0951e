/* The kernel itself: the empty call, the end of the run, the invariant walk. */
#include "abi.h"
#include "arch.h"
#include "console.h"
#include "invariants.h"
#include "stop.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_null(void)
{
    return STATUS_OK;
}

uint32_t syscall_power_off(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_POWER, 0u);
    uint64_t code = uctx_get(current, UCTX_RSI);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (code > 127u) {
        return ERR_BAD_ARGUMENT;
    }
    console_drain();
    arch_power_off((uint32_t)code);
    return STATUS_OK;
}

uint32_t syscall_check(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_POWER, 0u);
    uint32_t available = invariants_available();
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (available == 0u) {
        return ERR_NOT_SUPPORTED;
    }
    uint32_t stopped = stop_other_cpus();
    if (stopped == 0u) {
        return STATUS_RESTART;
    }
    uint32_t broken = invariants_check();
    stop_resume();
    uctx_set(current, UCTX_RDI, (uint64_t)broken);
    return STATUS_OK;
}
