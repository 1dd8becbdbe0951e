/* The guest's I/O ports. */
#ifndef VMM_IO_H
#define VMM_IO_H

#include <stdint.h>

#include "machine.h"

/* All devices as after power-on. `epoch`: seconds since 1970 at monitor time 0. */
void io_reset(uint64_t epoch, uint32_t bar);
/* Emulates the instruction of a VCPU_EXIT_IO. Requires the lock. */
void io_exit(struct cpu *cpu);
/* One access, under the lock; size 1, 2 or 4 bytes. Ports without a device read as all ones. */
uint32_t io_read(uint32_t port, uint32_t size);
void io_write(uint32_t port, uint32_t size, uint32_t value);

#endif
