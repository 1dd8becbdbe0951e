/* Console output in pieces and console input, without ever blocking the guest: while the console is full, the guest's
 * serial port shows a busy transmitter. */
#include "devices/console.h"

#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "devices/io.h"

#define OUTPUT_AGE_NS 4000000ul /* output waits at most this long for more */
#define RETRY_NS 1000000ul      /* between two tries while the console is full */
#define LONG_OUTPUT 256u

static uint32_t console_slot;
static uint64_t deadline;

void console_start(uint32_t slot)
{
    console_slot = slot;
    deadline = ~0ul;
}

uint32_t console_wants_flush(void)
{
    return machine.uart.out_length >= LONG_OUTPUT;
}

/* Writes up to 64 bytes; returns how many the console took. */
static uint32_t write_piece(const uint8_t *from, uint32_t bytes)
{
    uint64_t words[8] = {0};
    uint32_t taken = 0;
    bytes = bytes < sizeof words ? bytes : (uint32_t)sizeof words;
    memcpy(words, from, bytes);
    sys_console_write(console_slot, bytes, words, &taken);
    return taken;
}

void console_flush(uint32_t idle, uint64_t now)
{
    struct uart *uart = &machine.uart;
    uint32_t done = 0, full = 0;
    if (idle || console_wants_flush() || now >= deadline) {
        while (done < uart->out_length && full == 0) {
            uint32_t piece = uart->out_length - done < 64 ? uart->out_length - done : 64;
            uint32_t taken = write_piece(uart->out + done, piece);
            done += taken;
            full = taken == 0;
        }
        if (done > 0) {
            uint32_t before = uart->line;
            uart_sent(uart, done);
            if (uart->line != before) {
                machine_set_line(UART_IRQ, uart->line);
            }
        }
        deadline = ~0ul;
    }
    if (uart->out_length == 0) {
        deadline = ~0ul;
    } else if (full) {
        deadline = now + RETRY_NS;
    } else if (deadline == ~0ul) {
        deadline = now + OUTPUT_AGE_NS;
    }
}

uint64_t console_deadline(void)
{
    return deadline;
}

void console_fetch(void)
{
    uint8_t data[64];
    uint32_t before = machine.uart.line;
    while (uart_room(&machine.uart) >= sizeof data) {
        size_t bytes = console_read(console_slot, data);
        if (bytes == 0) {
            break;
        }
        uart_receive(&machine.uart, data, (uint32_t)bytes);
    }
    if (machine.uart.line != before) {
        machine_set_line(UART_IRQ, machine.uart.line);
    }
}

void console_drain(void)
{
    struct uart *uart = &machine.uart;
    console_write(console_slot, uart->out, uart->out_length);
    uart_sent(uart, uart->out_length);
}
