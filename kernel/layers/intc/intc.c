/* Interrupt controllers. */
#include "intc.h"

#include "arch.h"

/* open = 1: the line is not masked. Guarded by the lock that serialises the calls for a line (LOCK_IRQ, or
 * start-up). */
struct intc_line {
    uint32_t open;
};

static struct intc_line intc_line[NUM_IRQ_LINE];

void intc_route(uint32_t line, uint32_t cpu, uint32_t flags)
{
    intc_line[line].open = 0u;
    arch_line_route(line, cpu, flags);
}

void intc_mask(uint32_t line)
{
    intc_line[line].open = 0u;
    arch_line_mask(line);
}

void intc_unmask(uint32_t line)
{
    intc_line[line].open = 1u;
    arch_line_unmask(line);
}

void intc_route_message(uint32_t line, uint32_t function)
{
    arch_message_route(line, function);
}

uint64_t intc_message_address(uint32_t line)
{
    uint64_t address = arch_message_address(line);
    return address;
}

uint32_t intc_message_data(uint32_t line)
{
    uint32_t data = arch_message_data(line);
    return data;
}

uint32_t intc_masked(uint32_t line)
{
    return 1u - intc_line[line].open;
}

void intc_end(void)
{
    arch_interrupt_end();
}

void intc_send(uint32_t cpu, uint32_t vector)
{
    arch_interrupt_send(cpu, vector);
}
