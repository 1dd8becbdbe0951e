/* Interrupts. */
#include "abi.h"
#include "arch.h"
#include "irq.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
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

uint32_t syscall_irq_message(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_MESSAGE, 0u);
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t line = syscall_object(current);
    uint64_t address = irq_message_address(line);
    if (address == 0ul) {
        return ERR_NOT_SUPPORTED;
    }
    uint32_t data = irq_message_data(line);
    uctx_set(current, UCTX_RDI, address);
    uctx_set(current, UCTX_RSI, (uint64_t)data);
    return STATUS_OK;
}
