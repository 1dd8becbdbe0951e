/* I/O ports for drivers that were granted them. */
#include "arch.h"
#include "cpu/cpu.h"

uint32_t arch_port_in(uint32_t port, uint32_t width)
{
    if (width == 1) {
        return port_in8((uint16_t)port);
    }
    if (width == 2) {
        return port_in16((uint16_t)port);
    }
    return port_in32((uint16_t)port);
}

void arch_port_out(uint32_t port, uint32_t width, uint32_t value)
{
    if (width == 1) {
        port_out8((uint16_t)port, (uint8_t)value);
    } else if (width == 2) {
        port_out16((uint16_t)port, (uint16_t)value);
    } else {
        port_out32((uint16_t)port, value);
    }
}
