/* The serial port: the probes of Linux' 8250 driver, interrupts both ways, a full transmitter. */
#include "../devices/uart.c"

#include <string.h>

#include "../../libc/tests/check.h"

static struct uart uart;

static void test_probe(void)
{
    uart_init(&uart);
    uart_write(&uart, 7, 0xa5);
    CHECK(uart_read(&uart, 7) == 0xa5);
    uart_write(&uart, 1, 0xff);
    CHECK(uart_read(&uart, 1) == 0x0f);
    uart_write(&uart, 1, 0);
    uart_write(&uart, 4, 0x1a); /* loop, OUT2, RTS: must show as carrier and clear to send */
    CHECK((uart_read(&uart, 6) & 0xf0) == 0x90);
    uart_write(&uart, 4, 0x10);
    uart_write(&uart, 0, 'x');
    CHECK(uart.out_length == 0 && (uart_read(&uart, 5) & 1) == 1 && uart_read(&uart, 0) == 'x');
    uart_write(&uart, 4, 0);
    uart_write(&uart, 2, 1);
    CHECK((uart_read(&uart, 2) >> 6) == 3); /* 16550A */
    uart_write(&uart, 3, 0x83);
    uart_write(&uart, 0, 0x34);
    uart_write(&uart, 1, 0x12);
    CHECK(uart_read(&uart, 0) == 0x34 && uart_read(&uart, 1) == 0x12 && uart.out_length == 0);
    uart_write(&uart, 3, 0x03);
    CHECK(uart_read(&uart, 1) == 0);
}

static void test_transmit(void)
{
    uart_init(&uart);
    uart_write(&uart, 4, 0x0b);
    CHECK(uart.line == 0);
    uart_write(&uart, 1, 2);
    CHECK(uart.line == 1 && (uart_read(&uart, 2) & 0x0f) == 2);
    CHECK(uart.line == 0 && (uart_read(&uart, 2) & 0x0f) == 1); /* reading it takes it back */
    uart_write(&uart, 0, 'a');
    CHECK(uart.line == 1);
    uart_write(&uart, 1, 0);
    uart_write(&uart, 1, 2);
    CHECK(uart.line == 1 && uart.out_length == 1 && uart.out[0] == 'a');
    for (unsigned i = 1; i < UART_OUT_SIZE; i++) {
        CHECK((uart_read(&uart, 5) & 0x20) != 0);
        uart_write(&uart, 0, 'a' + i % 26);
    }
    CHECK(uart.out_length == UART_OUT_SIZE && uart.line == 0 && (uart_read(&uart, 5) & 0x60) == 0);
    uart_write(&uart, 0, '!');
    CHECK(uart.out_length == UART_OUT_SIZE); /* lost, as on hardware when the guest does not look */
    uart_sent(&uart, 100);
    CHECK(uart.line == 1 && (uart_read(&uart, 5) & 0x60) == 0x60);
    CHECK(uart.out_length == UART_OUT_SIZE - 100 && uart.out[0] == 'a' + 100 % 26);
    uart_sent(&uart, uart.out_length);
    CHECK(uart.out_length == 0);
}

static void test_receive(void)
{
    uart_init(&uart);
    uart_write(&uart, 1, 1);
    uart_receive(&uart, (const uint8_t *)"hi", 2);
    CHECK(uart.line == 0); /* OUT2 is off */
    uart_write(&uart, 4, 8);
    CHECK(uart.line == 1 && (uart_read(&uart, 2) & 0x0f) == 4);
    CHECK(uart_read(&uart, 0) == 'h' && uart.line == 1);
    CHECK(uart_read(&uart, 0) == 'i' && uart.line == 0 && (uart_read(&uart, 5) & 1) == 0);
    CHECK(uart_read(&uart, 0) == 0);
    uint8_t many[UART_IN_SIZE + 1];
    memset(many, 'z', sizeof many);
    uart_receive(&uart, many, sizeof many);
    CHECK(uart_room(&uart) == 0);
    CHECK((uart_read(&uart, 5) & 3) == 3 && (uart_read(&uart, 5) & 3) == 1); /* overrun, reported once */
    uart_write(&uart, 2, 3);
    CHECK(uart_room(&uart) == UART_IN_SIZE && uart.line == 0);
}

static void test_random(void)
{
    uart_init(&uart);
    for (unsigned i = 0; i < 2000000; i++) {
        unsigned r = (unsigned)rand();
        uint8_t byte = (uint8_t)(r >> 16);
        switch (r & 3) {
        case 0:
            uart_write(&uart, r >> 2 & 7, byte);
            break;
        case 1:
            CHECK(uart_read(&uart, r >> 2 & 7) <= 0xff);
            break;
        case 2:
            uart_receive(&uart, &byte, 1);
            break;
        default:
            uart_sent(&uart, uart.out_length == 0 ? 0 : byte % uart.out_length);
        }
        CHECK(uart.out_length <= UART_OUT_SIZE && uart_room(&uart) <= UART_IN_SIZE && uart.line <= 1);
    }
}

int main(void)
{
    test_probe();
    test_transmit();
    test_receive();
    test_random();
    return 0;
}
