/* Device windows, ports, and pages that devices reach. */
#include "abi.h"
#include "arch.h"
#include "device.h"
#include "iommu.h"
#include "pagemap.h"
#include "process.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_device_map(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_MMIO, 0u);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint64_t page = uctx_word(current, 0u);
    uint32_t page_valid = process_page_valid(address);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t d = syscall_object(current);
    uint32_t frame = device_frame(d, page);
    if (frame == NONE) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t status = STATUS_RESTART;
    uint32_t pending = 0u;
    while (status == STATUS_RESTART && pending == 0u) {
        status = process_map_foreign(p, address, frame, PROT_READ | PROT_WRITE, PAGEMAP_DEVICE);
        pending = arch_interrupt_pending(); /* behind the last step, too: as in syscall_thread_start */
    }
    return status;
}

uint32_t syscall_port_in(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_PORT, 0u);
    uint64_t offset = uctx_get(current, UCTX_RSI);
    uint64_t width = uctx_word(current, 0u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t d = syscall_object(current);
    uint32_t port = device_port(d, offset, width);
    if (port == NONE) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t value = arch_port_in(port, (uint32_t)width);
    uctx_set(current, UCTX_RDI, (uint64_t)value);
    return STATUS_OK;
}

uint32_t syscall_port_out(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_PORT, 0u);
    uint64_t offset = uctx_get(current, UCTX_RSI);
    uint64_t width = uctx_word(current, 0u);
    uint64_t value = uctx_word(current, 1u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t d = syscall_object(current);
    uint32_t port = device_port(d, offset, width);
    if (port == NONE) {
        return ERR_BAD_ARGUMENT;
    }
    arch_port_out(port, (uint32_t)width, (uint32_t)value);
    return STATUS_OK;
}

/* Whether the caller may have its devices see a page at `place`: STATUS_OK, or the error. */
static uint32_t syscall_dma_place(uint64_t place)
{
    if (place == DMA_PHYSICAL) {
        return STATUS_OK;
    }
    if (place % 4096ul != 0ul || place >= IOMMU_ADDRESS_END) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t present = iommu_present();
    if (present == 0u) {
        return ERR_NOT_SUPPORTED;
    }
    return STATUS_OK;
}

uint32_t syscall_dma_address(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_DMA, 0u);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint64_t place = uctx_word(current, 0u);
    uint32_t page_valid = process_page_valid(address);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t place_status = syscall_dma_place(place);
    if (place_status != STATUS_OK) {
        return place_status;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t frame = process_pin_page(p, address, PROT_READ);
    if (frame == PROCESS_PAGES_USED) {
        return STATUS_RESTART;
    }
    if (frame == NONE) {
        return ERR_BAD_ADDRESS;
    }
    /* Devices may write where the program may. The page is pinned, so what is found there is that page. */
    uint32_t prot = PROT_READ | PROT_WRITE;
    uint32_t writable = pagemap_frame(p, address, prot);
    if (writable != frame) {
        prot = PROT_READ;
    }
    if (place == DMA_PHYSICAL) {
        place = (uint64_t)frame << 12u;
    }
    uint32_t status = syscall_preemption();
    if (status != STATUS_OK) {
        return status;
    }
    status = iommu_map(p, place, frame, prot);
    while (status == STATUS_RESTART) {
        uint32_t pending = syscall_preemption();
        if (pending == STATUS_RESTART) {
            break;
        }
        status = iommu_map(p, place, frame, prot);
    }
    if (status == STATUS_OK) {
        status = syscall_preemption();
    }
    if (status != STATUS_OK) {
        return status;
    }
    iommu_notice();
    uctx_set(current, UCTX_RDI, place);
    return STATUS_OK;
}
