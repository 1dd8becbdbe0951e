/* Bounded buffers. */
#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_buffer_insert(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_BUFFER, RIGHT_INSERT);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t b = syscall_object(current);
    uint64_t word = uctx_get(current, UCTX_RSI);
    uint32_t status = buffer_insert(b, word);
    return status;
}

uint32_t syscall_buffer_remove(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_BUFFER, RIGHT_REMOVE);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t b = syscall_object(current);
    uint32_t status = buffer_remove(b);
    if (status == STATUS_OK) {
        uint64_t word = buffer_result();
        uctx_set(current, UCTX_RDI, word);
    }
    return status;
}
