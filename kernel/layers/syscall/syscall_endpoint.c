/* Messages. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "process.h"
#include "syscall.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_call(uint32_t current, uint64_t slot, uint64_t n)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        uint32_t again = syscall_leave_unit(current);
        return again;
    }
    uint64_t g = syscall_grant(current, slot, GRANT_ENDPOINT, RIGHT_SEND);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    if (n > MESSAGE_MAX_WORDS) {
        uctx_set(current, UCTX_RAX, ERR_BAD_ARGUMENT);
        return SYSCALL_DONE;
    }
    uint32_t e = process_grant_object(g);
    uint64_t badge = process_grant_badge(g);
    uint32_t at_once = endpoint_call(e, badge, (uint32_t)n);
    uint32_t after = syscall_after(at_once);
    return after;
}

uint32_t syscall_reply_recv(uint32_t current, uint64_t slot, uint64_t n)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        uint32_t again = syscall_leave_unit(current);
        return again;
    }
    uint64_t g = syscall_grant(current, slot, GRANT_ENDPOINT, RIGHT_RECV);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    if (n > MESSAGE_MAX_WORDS) {
        uctx_set(current, UCTX_RAX, ERR_BAD_ARGUMENT);
        return SYSCALL_DONE;
    }
    uint32_t e = process_grant_object(g);
    uint32_t at_once = endpoint_reply_recv(e, (uint32_t)n);
    if (at_once == 1u) {
        return SYSCALL_DONE;
    }
    return SYSCALL_CONTINUE;
}

uint32_t syscall_send(uint32_t current)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        uint32_t again = syscall_leave_unit(current);
        return again;
    }
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t n = uctx_get(current, UCTX_RSI);
    uint64_t g = syscall_grant(current, slot, GRANT_ENDPOINT, RIGHT_SEND);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    if (n > MESSAGE_MAX_WORDS) {
        uctx_set(current, UCTX_RAX, ERR_BAD_ARGUMENT);
        return SYSCALL_DONE;
    }
    uint32_t e = process_grant_object(g);
    uint64_t badge = process_grant_badge(g);
    endpoint_send(e, badge, (uint32_t)n);
    return SYSCALL_SWITCH;
}

uint32_t syscall_recv(uint32_t current)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        uint32_t again = syscall_leave_unit(current);
        return again;
    }
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t g = syscall_grant(current, slot, GRANT_ENDPOINT, RIGHT_RECV);
    if (g == NO_GRANT) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return SYSCALL_DONE;
    }
    uint32_t e = process_grant_object(g);
    endpoint_recv(e);
    return SYSCALL_SWITCH;
}

uint32_t syscall_reply(uint32_t current)
{
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        arch_fpu_leave();
        return STATUS_RESTART;
    }
    uint32_t status = ERR_BAD_ARGUMENT;
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (n <= MESSAGE_MAX_WORDS) {
        status = endpoint_reply((uint32_t)n);
    }
    return status;
}
