/* What several calls share: the check of a slot, the question whether an interrupt waits, second halves. */
#include "abi.h"
#include "arch.h"
#include "process.h"
#include "syscall.h"
#include "syscall_calls.h"
#include "syscall_numbers.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint64_t syscall_grant(uint32_t current, uint64_t slot, uint32_t kind, uint32_t rights)
{
    uint32_t p = thread_process(current);
    if (slot >= NUM_GRANT) {
        return NO_GRANT;
    }
    uint64_t g = process_grant(p, slot);
    uint32_t allowed = process_grant_allows(g, kind, rights);
    if (allowed == 0u) {
        return NO_GRANT;
    }
    return g;
}

uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights)
{
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t g = syscall_grant(current, slot, kind, rights);
    if (g == NO_GRANT) {
        return 0u;
    }
    return 1u;
}

uint32_t syscall_object(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint64_t g = process_grant(p, slot);
    uint32_t object = process_grant_object(g);
    return object;
}

uint32_t syscall_leave_unit(uint32_t current)
{
    arch_fpu_leave();
    uint64_t ip = uctx_get(current, UCTX_RIP);
    uctx_set(current, UCTX_RIP, ip - SYSCALL_INSTRUCTION_BYTES);
    return SYSCALL_WINDOW;
}

uint32_t syscall_after(uint32_t at_once)
{
    if (at_once == 1u) {
        return SYSCALL_DONE;
    }
    return SYSCALL_SWITCH;
}

void syscall_continue(uint32_t current)
{
    uint64_t number = uctx_get(current, UCTX_RAX);
    uint32_t p = thread_process(current);
    if (number == SYS_BUFFER_INSERT) {
        syscall_buffer_inserted(current);
        return;
    }
    if (number == SYS_BUFFER_REMOVE) {
        syscall_buffer_removed(current);
        return;
    }
    /* Once the process is dying, waits that begin are not cancelled any more. */
    uint32_t dying = process_dying(p);
    if (dying == 1u) {
        return;
    }
    if (number == SYS_REPLY_RECV) {
        syscall_recv(current);
    } else {
        syscall_wait_only(current);
    }
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
