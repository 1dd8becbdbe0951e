/* Shared pages. */
#include "abi.h"
#include "arch.h"
#include "process.h"
#include "share.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_share_offer(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_SHARE, RIGHT_OFFER);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint32_t page_valid = process_page_valid(address);
    uint32_t will_be_written = syscall_slot_valid(current, GRANT_SHARE, RIGHT_WRITE);
    uint32_t prot = PROT_READ;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    /* A page that came to the caller for reading alone must not be written by a third process either. */
    if (will_be_written != 0u) {
        prot = PROT_READ | PROT_WRITE;
    }
    uint32_t s = syscall_object(current);
    uint32_t status = process_offer_page(p, s, address, prot);
    return status;
}

uint32_t syscall_share_accept(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint64_t prot = uctx_word(current, 0u);
    uint32_t rights = RIGHT_ACCEPT;
    if ((prot & PROT_WRITE) != 0ul) {
        rights = RIGHT_ACCEPT | RIGHT_WRITE;
    }
    uint32_t valid = syscall_slot_valid(current, GRANT_SHARE, rights);
    uint32_t page_valid = process_page_valid(address);
    uint32_t prot_valid = process_prot_valid(prot);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    if (prot_valid == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t s = syscall_object(current);
    uint32_t status = STATUS_RESTART;
    uint32_t pending = 0u;
    while (status == STATUS_RESTART && pending == 0u) {
        status = process_accept_page(p, s, address, (uint32_t)prot);
        pending = arch_interrupt_pending(); /* behind the last step, too: as in syscall_thread_start */
    }
    return status;
}

uint32_t syscall_share_withdraw(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_SHARE, RIGHT_OFFER);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t s = syscall_object(current);
    uint32_t status = share_withdraw(s, p);
    return status;
}
