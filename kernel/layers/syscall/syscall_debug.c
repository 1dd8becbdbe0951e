/* SYS_CHECK. */
#include "abi.h"
#include "arch.h"
#include "invariants.h"
#include "stop.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_check(uint32_t current)
{
    uint32_t available = invariants_available();
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
