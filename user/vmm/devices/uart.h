/* A 16550A serial port. Pure state: what the guest sends collects in `out`, which the main loop writes to the
 * console in whole lines; what the console got is put into `in`. */
#ifndef VMM_UART_H
#define VMM_UART_H

#include <stdint.h>

#define UART_OUT_SIZE 1024u
#define UART_IN_SIZE 512u /* a power of two */
#define UART_IRQ 4u

struct uart {
    uint8_t ier, lcr, mcr, scratch, fcr;
    uint8_t divisor_low, divisor_high;
    uint8_t overrun;
    uint32_t transmit_pending; /* the "transmitter empty" interrupt waits */
    uint32_t in_head, in_tail; /* free running; head - tail bytes are in `in` */
    uint32_t out_length;
    uint32_t line; /* level of the interrupt line */
    uint8_t in[UART_IN_SIZE];
    uint8_t out[UART_OUT_SIZE];
};

void uart_init(struct uart *uart);
/* Register 0..7 (port 0x3f8 + register). Afterwards `line` is the interrupt line's level. */
uint32_t uart_read(struct uart *uart, uint32_t reg);
void uart_write(struct uart *uart, uint32_t reg, uint32_t value);
/* Bytes that uart_receive() takes now. */
uint32_t uart_room(const struct uart *uart);
void uart_receive(struct uart *uart, const uint8_t *data, uint32_t bytes);
/* The first `bytes` of `out` have been written to the console. */
void uart_sent(struct uart *uart, uint32_t bytes);

#endif
