/* Messages. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

void syscall_call(uint32_t current)
{
    uint32_t status = syscall_message_valid(current, RIGHT_SEND);
    if (status != STATUS_OK) {
        uctx_set(current, UCTX_RAX, (uint64_t)status);
        return;
    }
    uint32_t e = syscall_object(current);
    uint64_t badge = syscall_badge(current);
    uint64_t n = uctx_get(current, UCTX_RSI);
    endpoint_call(e, badge, (uint32_t)n);
}

void syscall_reply_recv(uint32_t current)
{
    uint32_t status = syscall_message_valid(current, RIGHT_RECV);
    if (status != STATUS_OK) {
        uctx_set(current, UCTX_RAX, (uint64_t)status);
        return;
    }
    uint32_t e = syscall_object(current);
    uint64_t n = uctx_get(current, UCTX_RSI);
    endpoint_reply_recv(e, (uint32_t)n);
}

void syscall_send(uint32_t current)
{
    uint32_t status = syscall_message_valid(current, RIGHT_SEND);
    if (status != STATUS_OK) {
        uctx_set(current, UCTX_RAX, (uint64_t)status);
        return;
    }
    uint32_t e = syscall_object(current);
    uint64_t badge = syscall_badge(current);
    uint64_t n = uctx_get(current, UCTX_RSI);
    endpoint_send(e, badge, (uint32_t)n);
}

void syscall_recv(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_ENDPOINT, RIGHT_RECV);
    if (valid == 0u) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    uint32_t e = syscall_object(current);
    endpoint_recv(e);
}

uint32_t syscall_reply(uint32_t current)
{
    uint32_t status = ERR_BAD_ARGUMENT;
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (n <= MESSAGE_MAX_WORDS) {
        status = endpoint_reply((uint32_t)n);
    }
    return status;
}
