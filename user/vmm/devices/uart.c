/* The 16550A. Transmission takes no time, except that the transmitter shows itself busy while `out` is full. */
#include "devices/uart.h"

#define IER_RECEIVE 0x01u
#define IER_TRANSMIT 0x02u
#define LSR_DATA 0x01u
#define LSR_OVERRUN 0x02u
#define LSR_THR_EMPTY 0x20u
#define LSR_EMPTY 0x40u
#define LCR_DLAB 0x80u
#define MCR_OUT2 0x08u
#define MCR_LOOP 0x10u
#define FCR_ENABLE 0x01u
#define FCR_CLEAR_RECEIVE 0x02u
#define IIR_NONE 0x01u
#define IIR_TRANSMIT 0x02u
#define IIR_RECEIVE 0x04u

static uint32_t has_input(const struct uart *uart)
{
    return uart->in_head != uart->in_tail;
}

static uint32_t identify(const struct uart *uart)
{
    if ((uart->ier & IER_RECEIVE) != 0 && has_input(uart)) {
        return IIR_RECEIVE;
    }
    if ((uart->ier & IER_TRANSMIT) != 0 && uart->transmit_pending != 0) {
        return IIR_TRANSMIT;
    }
    return IIR_NONE;
}

static void update(struct uart *uart)
{
    /* OUT2 gates the line on a PC. */
    uart->line = identify(uart) != IIR_NONE && (uart->mcr & (MCR_OUT2 | MCR_LOOP)) == MCR_OUT2;
}

void uart_init(struct uart *uart)
{
    *uart = (struct uart){.divisor_low = 1};
}

uint32_t uart_room(const struct uart *uart)
{
    return UART_IN_SIZE - (uart->in_head - uart->in_tail);
}

void uart_receive(struct uart *uart, const uint8_t *data, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        if (uart_room(uart) == 0) {
            uart->overrun = 1;
            break;
        }
        uart->in[uart->in_head % UART_IN_SIZE] = data[i];
        uart->in_head++;
    }
    update(uart);
}

void uart_sent(struct uart *uart, uint32_t bytes)
{
    if (uart->out_length == UART_OUT_SIZE && bytes > 0) {
        uart->transmit_pending = 1; /* room again */
    }
    uart->out_length -= bytes;
    for (uint32_t i = 0; i < uart->out_length; i++) {
        uart->out[i] = uart->out[i + bytes];
    }
    update(uart);
}

uint32_t uart_read(struct uart *uart, uint32_t reg)
{
    uint32_t value = 0;
    switch (reg) {
    case 0:
        if (uart->lcr & LCR_DLAB) {
            return uart->divisor_low;
        }
        if (has_input(uart)) {
            value = uart->in[uart->in_tail % UART_IN_SIZE];
            uart->in_tail++;
            update(uart);
        }
        return value;
    case 1:
        return uart->lcr & LCR_DLAB ? uart->divisor_high : uart->ier;
    case 2:
        value = identify(uart);
        if (value == IIR_TRANSMIT) {
            uart->transmit_pending = 0;
            update(uart);
        }
        return value | (uart->fcr & FCR_ENABLE ? 0xc0u : 0u);
    case 3:
        return uart->lcr;
    case 4:
        return uart->mcr;
    case 5:
        value = has_input(uart) ? LSR_DATA : 0u;
        value |= uart->overrun ? LSR_OVERRUN : 0u;
        value |= uart->out_length < UART_OUT_SIZE ? LSR_THR_EMPTY | LSR_EMPTY : 0u;
        uart->overrun = 0;
        return value;
    case 6:
        if (uart->mcr & MCR_LOOP) { /* RTS DTR OUT1 OUT2 come back as CTS DSR RI DCD */
            return (uart->mcr & 2u) << 3 | (uart->mcr & 1u) << 5 | (uart->mcr & 4u) << 4 | (uart->mcr & 8u) << 4;
        }
        return 0xb0; /* carrier, data set ready, clear to send */
    default:
        return uart->scratch;
    }
}

static void transmit(struct uart *uart, uint32_t value)
{
    if (uart->mcr & MCR_LOOP) {
        uint8_t byte = (uint8_t)value;
        uart_receive(uart, &byte, 1);
    } else if (uart->out_length < UART_OUT_SIZE) {
        uart->out[uart->out_length] = (uint8_t)value;
        uart->out_length++;
    }
    uart->transmit_pending = uart->out_length < UART_OUT_SIZE;
}

void uart_write(struct uart *uart, uint32_t reg, uint32_t value)
{
    value &= 0xff;
    switch (reg) {
    case 0:
        if (uart->lcr & LCR_DLAB) {
            uart->divisor_low = (uint8_t)value;
        } else {
            transmit(uart, value);
        }
        break;
    case 1:
        if (uart->lcr & LCR_DLAB) {
            uart->divisor_high = (uint8_t)value;
        } else {
            if ((value & IER_TRANSMIT) != 0 && (uart->ier & IER_TRANSMIT) == 0) {
                uart->transmit_pending = uart->out_length < UART_OUT_SIZE;
            }
            uart->ier = (uint8_t)(value & 0x0f);
        }
        break;
    case 2:
        uart->fcr = (uint8_t)value;
        if (value & FCR_CLEAR_RECEIVE) {
            uart->in_tail = uart->in_head;
        }
        break;
    case 3:
        uart->lcr = (uint8_t)value;
        break;
    case 4:
        uart->mcr = (uint8_t)(value & 0x1f);
        break;
    case 7:
        uart->scratch = (uint8_t)value;
        break;
    default: /* line and modem status are read-only */
        break;
    }
    update(uart);
}
