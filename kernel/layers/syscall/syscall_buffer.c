/* Bounded buffers. A call that has waited goes on behind an interrupt window. */
#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "syscall.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_buffer_insert(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_BUFFER, RIGHT_INSERT);
    uint32_t status = ERR_BAD_SLOT;
    if (valid == 1u) {
        uint32_t b = syscall_object(current);
        uint64_t word = uctx_get(current, UCTX_RSI);
        status = buffer_insert(b, word);
        if (status == BUFFER_WAITED) {
            return SYSCALL_CONTINUE;
        }
    }
    uctx_set(current, UCTX_RAX, (uint64_t)status);
    return SYSCALL_WINDOW;
}

void syscall_buffer_inserted(uint32_t current)
{
    uint32_t b = syscall_object(current);
    uint64_t word = uctx_get(current, UCTX_RSI);
    uint32_t status = buffer_insert_waited(b, word);
    uctx_set(current, UCTX_RAX, (uint64_t)status);
}

/* Stores the outcome of a removal. */
static void syscall_buffer_store(uint32_t current, uint32_t status)
{
    if (status == STATUS_OK) {
        uint64_t word = buffer_result();
        uctx_set(current, UCTX_RDI, word);
    }
    uctx_set(current, UCTX_RAX, (uint64_t)status);
}

uint32_t syscall_buffer_remove(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_BUFFER, RIGHT_REMOVE);
    uint32_t status = ERR_BAD_SLOT;
    if (valid == 1u) {
        uint32_t b = syscall_object(current);
        status = buffer_remove(b);
        if (status == BUFFER_WAITED) {
            return SYSCALL_CONTINUE;
        }
    }
    syscall_buffer_store(current, status);
    return SYSCALL_WINDOW;
}

void syscall_buffer_removed(uint32_t current)
{
    uint32_t b = syscall_object(current);
    uint32_t status = buffer_remove_waited(b);
    syscall_buffer_store(current, status);
}
