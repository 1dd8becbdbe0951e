/* What several calls check: the slot in rdi, the message in rsi, whether an interrupt waits. */
#include "abi.h"
#include "arch.h"
#include "process.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    if (slot >= NUM_GRANT) {
        return 0u;
    }
    uint32_t granted_kind = process_grant_kind(p, (uint32_t)slot);
    uint32_t granted_rights = process_grant_rights(p, (uint32_t)slot);
    if (granted_kind != kind || (granted_rights & rights) != rights) {
        return 0u;
    }
    return 1u;
}

uint32_t syscall_object(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint32_t object = process_grant_object(p, (uint32_t)slot);
    return object;
}

uint32_t syscall_message_valid(uint32_t current, uint32_t right)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_ENDPOINT, right);
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (n > MESSAGE_MAX_WORDS) {
        return ERR_BAD_ARGUMENT;
    }
    return STATUS_OK;
}

uint64_t syscall_badge(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t badge = process_grant_badge(p, (uint32_t)slot);
    return badge;
}

uint32_t syscall_preemption(void)
{
    uint32_t status = STATUS_OK;
    uint32_t pending = arch_interrupt_pending();
    if (pending != 0u) {
        status = STATUS_RESTART;
    }
    return status;
}
