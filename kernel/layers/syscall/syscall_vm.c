/* Virtual machines. The nested map and the vcpu are made by the first call that needs them; both are the monitor's. */
#include "abi.h"
#include "arch.h"
#include "npt.h"
#include "pagemap.h"
#include "process.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"
#include "vcpu.h"

/* A nested map for vm, if it has none. Returns STATUS_OK; STATUS_RESTART: it was made, and an interrupt waits;
 * ERR_QUOTA, ERR_NO_MEMORY. */
static uint32_t syscall_need_map(uint32_t vm, uint32_t p)
{
    uint32_t status = STATUS_OK;
    uint32_t root = npt_root(vm);
    if (root == NONE) {
        status = npt_create(vm, p);
        if (status == STATUS_OK) {
            status = syscall_preemption();
        }
    }
    return status;
}

/* Gives the guest one page of p. The page stays p's until p ends: pinned, so that a guest never reaches a frame
 * that has become another process's. */
static uint32_t syscall_vm_map_page(uint32_t p, uint32_t vm, uint64_t guest, uint64_t own, uint32_t prot)
{
    uint32_t own_valid = process_page_valid(own);
    if (own_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t status = STATUS_OK;
    uint32_t missing = npt_missing(vm, guest);
    if (missing > 0u) {
        /* Looked for here, too, so that a call that fails leaves no tables. */
        uint32_t found = pagemap_frame(p, own, prot & (PROT_READ | PROT_WRITE));
        if (found == NONE) {
            return ERR_BAD_ADDRESS;
        }
        status = npt_prepare(vm, guest, p, missing);
        return status;
    }
    uint32_t frame = process_pin_page(p, own, prot & (PROT_READ | PROT_WRITE));
    if (frame == PROCESS_PAGES_USED) {
        return STATUS_RESTART;
    }
    if (frame == NONE) {
        return ERR_BAD_ADDRESS;
    }
    status = npt_map(vm, guest, frame, prot);
    return status;
}

uint32_t syscall_vm_map(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_VM, 0u);
    uint64_t guest = uctx_get(current, UCTX_RSI);
    uint64_t own = uctx_word(current, 0u);
    uint64_t pages = uctx_word(current, 1u);
    uint64_t prot = uctx_word(current, 2u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (pages == 0u || prot > 7u || (prot & PROT_READ) == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t vm = syscall_object(current);
    uint32_t status = syscall_need_map(vm, p);
    while (pages > 0u && status == STATUS_OK) {
        status = syscall_vm_map_page(p, vm, guest, own, (uint32_t)prot);
        if (status == STATUS_OK) {
            guest = guest + 4096ul;
            own = own + 4096ul;
            pages = pages - 1ul;
        }
        /* Behind the last page, too, as in syscall_mem_map. */
        uint32_t pending = syscall_preemption();
        if (pages > 0u && (status == STATUS_OK || status == STATUS_RESTART)) {
            status = pending;
        }
    }
    uctx_set(current, UCTX_RSI, guest);
    uctx_set_word(current, 0u, own);
    uctx_set_word(current, 1u, pages);
    return status;
}

uint32_t syscall_vm_unmap(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_VM, 0u);
    uint64_t guest = uctx_get(current, UCTX_RSI);
    uint64_t pages = uctx_word(current, 0u);
    uint32_t status = STATUS_OK;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (pages == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t vm = syscall_object(current);
    while (pages > 0u && status == STATUS_OK) {
        status = npt_unmap(vm, guest);
        if (status == STATUS_OK) {
            guest = guest + 4096ul;
            pages = pages - 1ul;
            if (pages == 0u) {
                break;
            }
            status = syscall_preemption();
        }
    }
    uctx_set(current, UCTX_RSI, guest);
    uctx_set_word(current, 0u, pages);
    return status;
}

uint32_t syscall_vcpu_page(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_VM, 0u);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint32_t page_valid = process_page_valid(address);
    uint32_t pending = 0u;
    uint32_t status = STATUS_OK;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t vm = syscall_object(current);
    uint32_t frame = vcpu_page(vm);
    if (frame == NONE) {
        status = vcpu_create(vm, p);
        if (status != STATUS_OK) {
            return status;
        }
        pending = arch_interrupt_pending();
        if (pending != 0u) {
            return STATUS_RESTART;
        }
    }
    /* From here on the vcpu stays until the process ends, also if the page cannot be mapped: another thread may have
     * mapped it meanwhile, or run the guest. */
    frame = vcpu_page(vm);
    status = STATUS_RESTART;
    while (status == STATUS_RESTART && pending == 0u) {
        status = process_map_foreign(p, address, frame, PROT_READ | PROT_WRITE, PAGEMAP_IMAGE);
        pending = arch_interrupt_pending(); /* behind the last step, too: as in syscall_thread_start */
    }
    return status;
}

/* The notification named by word 0 of the call, checked: the notification, or NONE if the word is not a slot with the
 * right to wait. */
static uint32_t syscall_run_notification(uint32_t p, uint64_t slot)
{
    uint32_t n = NONE;
    if (slot < NUM_GRANT) {
        uint64_t g = process_grant(p, slot);
        uint32_t allowed = process_grant_allows(g, GRANT_NOTIFICATION, RIGHT_WAIT);
        if (allowed == 1u) {
            n = process_grant_object(g);
        }
    }
    return n;
}

uint32_t syscall_vcpu_run(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_VM, 0u);
    uint64_t deadline = uctx_get(current, UCTX_RSI);
    uint64_t slot = uctx_word(current, 0u);
    uint32_t n = NONE;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (slot != NONE) {
        n = syscall_run_notification(p, slot);
        if (n == NONE) {
            return ERR_BAD_SLOT;
        }
    }
    uint32_t vm = syscall_object(current);
    uint32_t status = vcpu_run(vm, deadline, n);
    if (status == STATUS_OK) {
        uint32_t reason = vcpu_reason(vm);
        uctx_set(current, UCTX_RDI, (uint64_t)reason);
    }
    return status;
}
