/* Interrupts, device windows, ports, DMA, consoles, end of the run. */
#include "abi.h"
#include "arch.h"
#include "console.h"
#include "device.h"
#include "iommu.h"
#include "irq.h"
#include "pagemap.h"
#include "process.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_irq_ack(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_IRQ, 0u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t line = syscall_object(current);
    uint32_t status = irq_ack(line);
    return status;
}

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
    uint32_t status = process_map_foreign(p, address, frame, PROT_READ | PROT_WRITE, PAGEMAP_DEVICE);
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

uint32_t syscall_dma_address(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t valid = syscall_slot_valid(current, GRANT_DMA, 0u);
    uint64_t address = uctx_get(current, UCTX_RSI);
    uint32_t page_valid = process_page_valid(address);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (page_valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    /* Devices may write where the program may. */
    uint32_t prot = PROT_READ | PROT_WRITE;
    uint32_t frame = process_pin_page(p, address, prot);
    if (frame == NONE) {
        prot = PROT_READ;
        frame = process_pin_page(p, address, prot);
    }
    if (frame == NONE) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t status = iommu_map(p, frame, prot);
    iommu_notice();
    if (status != STATUS_OK) {
        return status;
    }
    uctx_set(current, UCTX_RDI, (uint64_t)frame << 12u);
    return STATUS_OK;
}

uint32_t syscall_console_write(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_CONSOLE, 0u);
    uint64_t n = uctx_get(current, UCTX_RSI);
    uint64_t taken = 0u;
    uint32_t piece = 8u;
    uint32_t put = 8u;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (n == 0u || n > 64u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t console = syscall_object(current);
    while (taken < n && put == piece) {
        uint64_t word = uctx_word(current, (uint32_t)(taken / 8ul));
        if (n - taken < 8ul) {
            piece = (uint32_t)(n - taken);
        }
        put = console_put(console, word, piece);
        taken = taken + (uint64_t)put;
    }
    uctx_set(current, UCTX_RDI, taken);
    return STATUS_OK;
}

uint32_t syscall_console_read(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_CONSOLE, 0u);
    uint64_t n = 0u;
    uint64_t word = 0u;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t console = syscall_object(current);
    uint32_t byte = console_get(console);
    while (byte != NONE) {
        word = word | ((uint64_t)(byte & 0xffu) << (8ul * (n % 8ul)));
        n = n + 1ul;
        uctx_set_word(current, (uint32_t)((n - 1ul) / 8ul), word);
        if (n % 8ul == 0u) {
            word = 0u;
        }
        byte = NONE;
        if (n < 64u) {
            byte = console_get(console);
        }
    }
    uctx_set(current, UCTX_RDI, n);
    return STATUS_OK;
}

uint32_t syscall_power_off(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_POWER, 0u);
    uint64_t code = uctx_get(current, UCTX_RSI);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (code > 127u) {
        return ERR_BAD_ARGUMENT;
    }
    console_drain();
    arch_power_off((uint32_t)code);
    return STATUS_OK;
}
