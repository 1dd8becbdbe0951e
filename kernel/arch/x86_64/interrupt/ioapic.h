#ifndef ASHLAR_X86_64_IOAPIC_H
#define ASHLAR_X86_64_IOAPIC_H

/* Masks every line of the I/O interrupt controller and the old 8259 pair. Start-up, once. */
void ioapic_init(void);

#endif
