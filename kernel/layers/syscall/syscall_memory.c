/* Own memory. A call on many pages works page by page: the progress stands in the argument registers, so that a
 * preempted call, run again, goes on where it was. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "process.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

/* 1 if the range is at least one page and lies in user space. */
static uint32_t syscall_range_valid(uint64_t address, uint64_t pages)
{
    uint32_t valid = process_page_valid(address);
    if (valid == 1u && (pages == 0u || pages > (USER_END - address) / 4096ul)) {
        valid = 0u;
    }
    return valid;
}

uint32_t syscall_mem_map(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t address = uctx_get(current, UCTX_RDI);
    uint64_t pages = uctx_get(current, UCTX_RSI);
    uint64_t prot = uctx_word(current, 0u);
    uint32_t range_valid = syscall_range_valid(address, pages);
    uint32_t prot_valid = process_prot_valid(prot);
    uint32_t status = STATUS_OK;
    if (range_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    if (prot_valid == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    while (pages > 0u && status == STATUS_OK) {
        status = process_map_page(p, address, (uint32_t)prot);
        if (status == STATUS_OK) {
            address = address + 4096ul;
            pages = pages - 1ul;
        }
        /* Behind the last page, too, so that mapping it and the way out are two regions: done is done then. */
        uint32_t pending = syscall_preemption();
        if (pages > 0u && (status == STATUS_OK || status == STATUS_RESTART)) {
            status = pending;
        }
    }
    uctx_set(current, UCTX_RDI, address);
    uctx_set(current, UCTX_RSI, pages);
    return status;
}

uint32_t syscall_mem_unmap(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t address = uctx_get(current, UCTX_RDI);
    uint64_t pages = uctx_get(current, UCTX_RSI);
    uint32_t range_valid = syscall_range_valid(address, pages);
    uint32_t status = STATUS_OK;
    if (range_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    while (pages > 0u && status == STATUS_OK) {
        status = process_unmap_page(p, address);
        if (status == STATUS_OK) {
            address = address + 4096ul;
            pages = pages - 1ul;
            if (pages > 0u) {
                status = syscall_preemption();
            }
        } else if (status == STATUS_RESTART) {
            status = syscall_preemption();
        }
    }
    uctx_set(current, UCTX_RDI, address);
    uctx_set(current, UCTX_RSI, pages);
    return status;
}

uint32_t syscall_quota(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t used = container_usage(p);
    uint32_t quota = container_quota(p);
    uctx_set(current, UCTX_RDI, (uint64_t)used);
    uctx_set(current, UCTX_RSI, (uint64_t)quota);
    return STATUS_OK;
}
