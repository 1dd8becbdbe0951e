/* The serial port COM1, a 16550: 115200 baud, 8 data bits, no parity, FIFOs where the chip has them. */
#include "arch.h"
#include "cpu/cpu.h"
#include "device/serial.h"

#define COM1 0x3f8
#define DATA (COM1 + 0)
#define INTERRUPT_ENABLE (COM1 + 1)
#define IE_RECEIVED 1
#define IE_TRANSMITTER_EMPTY 2
#define FIFO_CONTROL (COM1 + 2)       /* write */
#define INTERRUPT_IDENTITY (COM1 + 2) /* read */
#define LINE_CONTROL (COM1 + 3)
#define MODEM_CONTROL (COM1 + 4)
#define LINE_STATUS (COM1 + 5)
#define LS_DATA_READY 0x01
#define LS_TRANSMITTER_EMPTY 0x20

static uint32_t fifo_size = 1;
static uint32_t room; /* bytes that the transmitter FIFO has room for, at least */

void serial_init(void)
{
    port_out8(INTERRUPT_ENABLE, 0);
    port_out8(LINE_CONTROL, 0x80); /* divisor 1 */
    port_out8(DATA, 1);
    port_out8(INTERRUPT_ENABLE, 0);
    port_out8(LINE_CONTROL, 0x03);
    port_out8(FIFO_CONTROL, 0xc7);  /* enabled, emptied, interrupt at 14 bytes or after a pause */
    port_out8(MODEM_CONTROL, 0x0b); /* OUT2 enables interrupts */
    fifo_size = (port_in8(INTERRUPT_IDENTITY) & 0xc0) == 0xc0 ? 16 : 1;
    room = 0;
    port_out8(INTERRUPT_ENABLE, IE_RECEIVED);
}

uint32_t arch_serial_status(void)
{
    uint8_t status = port_in8(LINE_STATUS);
    if ((status & LS_TRANSMITTER_EMPTY) != 0) {
        room = fifo_size;
    }
    if (status == 0xff || (status & LS_DATA_READY) == 0) { /* 0xff: no such port */
        return room;
    }
    return room | SERIAL_RECEIVED;
}

void arch_serial_put(uint32_t byte)
{
    port_out8(DATA, (uint8_t)byte);
    room = room - 1;
}

uint32_t arch_serial_get(void)
{
    return port_in8(DATA);
}

/* The interrupt is disabled and enabled again, so that a cause which arose while another was served makes a new
 * edge. */
void arch_serial_transmit_interrupt(uint32_t enable)
{
    port_out8(INTERRUPT_ENABLE, 0);
    port_out8(INTERRUPT_ENABLE, enable != 0 ? IE_RECEIVED | IE_TRANSMITTER_EMPTY : IE_RECEIVED);
}

/* Waits a bounded time for the transmitter, then sends the byte regardless. */
void serial_put_wait(char byte)
{
    for (uint32_t i = 0; i < 1000000 && (port_in8(LINE_STATUS) & LS_TRANSMITTER_EMPTY) == 0; i++) {
        cpu_pause();
    }
    port_out8(DATA, (uint8_t)byte);
    room = 0;
}
