/* Notifications. */
#include "abi.h"
#include "arch.h"
#include "notify.h"
#include "process.h"
#include "syscall.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_signal(uint32_t current, uint64_t slot)
{
    uint64_t g = syscall_grant(current, slot, GRANT_NOTIFICATION, RIGHT_SIGNAL);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    uint32_t n = process_grant_object(g);
    uint64_t bits = process_grant_badge(g);
    uctx_set(current, UCTX_RAX, STATUS_OK);
    notify_signal(n, bits);
    return SYSCALL_SWITCH;
}

/* Word 0, if it is not 0, is 1 + the slot of a notification to signal before: two processes that wake each other
 * make one call each instead of two. */
uint32_t syscall_wait(uint32_t current, uint64_t slot, uint64_t deadline)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        uint32_t again = syscall_leave_unit(current);
        return again;
    }
    uint64_t g = syscall_grant(current, slot, GRANT_NOTIFICATION, RIGHT_WAIT);
    uint64_t signal = uctx_word(current, 0u);
    uint64_t peer = NO_GRANT;
    if (signal != 0u) {
        peer = syscall_grant(current, signal - 1ul, GRANT_NOTIFICATION, RIGHT_SIGNAL);
    }
    if (g == NO_GRANT || (signal != 0u && peer == NO_GRANT)) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    uint32_t n = process_grant_object(g);
    if (signal == 0u) {
        uint32_t at_once = notify_wait(n, deadline);
        uint32_t after = syscall_after(at_once);
        return after;
    }
    uint32_t signalled = process_grant_object(peer);
    uint64_t bits = process_grant_badge(peer);
    if (deadline != NOTIFY_FOREVER) {
        notify_signal(signalled, bits);
        return SYSCALL_CONTINUE;
    }
    uint32_t at_once = notify_signal_wait(signalled, bits, n);
    uint32_t after = syscall_after(at_once);
    return after;
}

void syscall_wait_only(uint32_t current)
{
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t deadline = uctx_get(current, UCTX_RSI);
    uint64_t g = syscall_grant(current, slot, GRANT_NOTIFICATION, RIGHT_WAIT);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    uint32_t n = process_grant_object(g);
    notify_wait_until(n, deadline);
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
