/* Interrupts. */
#include "abi.h"
#include "irq.h"
#include "syscall_calls.h"
#include "syscall_parts.h"

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
