/* The guest's I/O ports. */
#ifndef VMM_IO_H
#define VMM_IO_H

#include <stdint.h>

#include "devices/lapic.h"
#include "devices/pic.h"
#include "devices/pit.h"
#include "devices/rtc.h"
#include "devices/uart.h"
#include "virtio/bus.h"

/* What the guest asked for by a port; the main loop acts on it. */
#define IO_REQUEST_NONE 0u
#define IO_REQUEST_RESET 1u
#define IO_REQUEST_POWER_OFF 2u

struct machine {
    struct lapic lapic;
    struct pic pic;
    struct pit pit;
    struct rtc rtc;
    struct uart uart;
    struct bus bus;
    uint32_t pm1_status, pm1_enable, pm1_control;
    uint32_t request; /* IO_REQUEST_* */
};

extern struct machine machine;

/* All devices as after power-on. `epoch`: seconds since 1970 at monitor time 0; `tsc_khz`: rate of the TSC. */
void io_reset(uint64_t epoch, uint64_t tsc_khz);
/* Emulates the instruction of a VCPU_EXIT_IO. */
void io_exit(void);
/* One access; size 1, 2 or 4 bytes. Ports without a device read as all ones. */
uint32_t io_read(uint32_t port, uint32_t size);
void io_write(uint32_t port, uint32_t size, uint32_t value);

#endif
