/* Child processes, and the end of the own one. */
#include "abi.h"
#include "arch.h"
#include "process.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

/* 1 if the slot names a child of the caller. */
static uint32_t syscall_child_valid(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_PROCESS, 0u);
    if (valid == 1u) {
        uint32_t child = syscall_object(current);
        uint32_t parent = process_parent(child);
        if (parent != p) {
            valid = 0u;
        }
    }
    return valid;
}

uint32_t syscall_process_create(uint32_t current)
{
    uint32_t valid = syscall_child_valid(current);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t child = syscall_object(current);
    uint32_t status = process_create_steps(child);
    return status;
}

uint32_t syscall_process_copy(uint32_t current)
{
    uint32_t valid = syscall_child_valid(current);
    uint64_t to = uctx_get(current, UCTX_RSI);
    uint64_t from = uctx_word(current, 0u);
    uint64_t prot = uctx_word(current, 1u);
    uint32_t to_valid = process_page_valid(to);
    uint32_t from_valid = process_page_valid(from);
    uint32_t prot_valid = process_prot_valid(prot);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (to_valid == 0u || from_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    if (prot_valid == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t child = syscall_object(current);
    uint32_t status = process_copy_page(child, to, from, (uint32_t)prot);
    return status;
}

uint32_t syscall_process_start(uint32_t current)
{
    uint32_t valid = syscall_child_valid(current);
    uint64_t entry = uctx_get(current, UCTX_RSI);
    uint64_t stack = uctx_word(current, 0u);
    uint64_t argument = uctx_word(current, 1u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t child = syscall_object(current);
    uint32_t status = process_start(child, entry, stack, argument);
    return status;
}

uint32_t syscall_process_kill(uint32_t current)
{
    uint32_t valid = syscall_child_valid(current);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t child = syscall_object(current);
    uint32_t status = process_kill(child, END_KILLED);
    return status;
}

uint32_t syscall_process_status(uint32_t current)
{
    uint32_t valid = syscall_child_valid(current);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t child = syscall_object(current);
    uint32_t state = process_state(child);
    uint32_t cause = process_end_cause(child);
    uctx_set(current, UCTX_RDI, (uint64_t)state);
    uctx_set(current, UCTX_RSI, (uint64_t)cause);
    return STATUS_OK;
}

uint32_t syscall_process_exit(uint32_t current)
{
    uint64_t code = uctx_get(current, UCTX_RDI);
    uint64_t cause = (code & 0xfffful) << 8u;
    process_exit((uint32_t)cause | END_EXIT);
    return STATUS_OK;
}
