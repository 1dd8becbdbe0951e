/* Notifications. */
#include "abi.h"
#include "arch.h"
#include "notify.h"
#include "process.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_signal(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_NOTIFICATION, RIGHT_SIGNAL);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint32_t n = process_grant_object(p, (uint32_t)slot);
    uint64_t bits = process_grant_badge(p, (uint32_t)slot);
    notify_signal(n, bits);
    return STATUS_OK;
}

/* 1 if that slot of the thread's process holds a notification it may signal, else 0. */
static uint32_t syscall_may_signal(uint32_t current, uint64_t slot)
{
    uint32_t p = thread_process(current);
    if (slot >= NUM_GRANT) {
        return 0u;
    }
    uint32_t kind = process_grant_kind(p, (uint32_t)slot);
    uint32_t rights = process_grant_rights(p, (uint32_t)slot);
    if (kind != GRANT_NOTIFICATION || (rights & RIGHT_SIGNAL) == 0u) {
        return 0u;
    }
    return 1u;
}

/* Word 0, if it is not 0, is 1 + the slot of a notification to signal before: two processes that wake each other
 * make one call each instead of two. */
void syscall_wait(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_NOTIFICATION, RIGHT_WAIT);
    uint64_t signal = uctx_word(current, 0u);
    if (valid == 1u && signal != 0u) {
        valid = syscall_may_signal(current, signal - 1ul);
    }
    if (valid == 0u) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    uint32_t n = syscall_object(current);
    uint64_t deadline = uctx_get(current, UCTX_RSI);
    if (signal != 0u) {
        uint32_t p = thread_process(current);
        uint32_t peer = process_grant_object(p, (uint32_t)(signal - 1ul));
        uint64_t bits = process_grant_badge(p, (uint32_t)(signal - 1ul));
        notify_signal_wait(peer, bits, n, deadline);
    } else {
        notify_wait(n, deadline);
    }
}

uint32_t syscall_poll(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_NOTIFICATION, RIGHT_WAIT);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t n = syscall_object(current);
    uint64_t bits = notify_poll(n);
    uctx_set(current, UCTX_RDI, bits);
    return STATUS_OK;
}
