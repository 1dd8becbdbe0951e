#ifndef ASHLAR_X86_64_IOAPIC_H
#define ASHLAR_X86_64_IOAPIC_H

#include <stdint.h>

/* Masks every line of the I/O interrupt controller and the old 8259 pair. Start-up, once. */
void ioapic_init(void);

/* Whether the controller has a register that ends an interrupt, which remapping needs. All that stand beside an IOMMU do. */
uint32_t ioapic_can_end(void);

#endif
