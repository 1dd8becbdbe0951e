/* The I/O interrupt controller (82093AA and its later versions), which a guest with several virtual CPUs has beside the 8259
 * pair: 24 inputs, each with an entry that says where its interrupt goes. Pure state; messages go out by ioapic_send(). */
#ifndef VMM_IOAPIC_H
#define VMM_IOAPIC_H

#include <stdint.h>

#define IOAPIC_ADDRESS 0xfec00000ul
#define IOAPIC_SIZE 0x1000ul
#define IOAPIC_INPUTS 24u
#define IOAPIC_TIMER_INPUT 2u /* of the interval timer, which is line 0 of the 8259 pair */

struct ioapic {
    uint64_t entry[IOAPIC_INPUTS];
    uint32_t lines; /* levels of the inputs */
    uint32_t selected;
    uint32_t identifier;
};

void ioapic_init(struct ioapic *ioapic);
/* Register at `offset` bytes, 32 bits wide. */
uint32_t ioapic_read(const struct ioapic *ioapic, uint32_t offset);
void ioapic_write(struct ioapic *ioapic, uint32_t offset, uint32_t value);
/* Drives an input to `level` 0 or 1. */
void ioapic_set_line(struct ioapic *ioapic, uint32_t input, uint32_t level);
/* A local controller has ended the interrupt `vector` that a level had requested: it comes again while the level stays. */
void ioapic_end(struct ioapic *ioapic, uint32_t vector);

/* What the controller calls: an interrupt that a level had requested at this input was ended, and comes again unless the level is
 * lowered now; an interrupt message of this delivery mode. */
void ioapic_ended(uint32_t input);
void ioapic_send(uint32_t destination, uint32_t is_logical, uint32_t mode, uint32_t vector, uint32_t is_level);

#endif
