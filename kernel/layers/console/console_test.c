/* Output of consoles is sent completely and in order under the switching protocol, a full ring refuses bytes, no
 * console starves; input goes to the selected console. The decoder here is independent of the layer. */
#include <string.h>

#include "arch.h"
#include "console.h"
#include "hosted.h"
#include "test.h"

#define TEXT 16384u
#define SERVER 1u /* the CPU that serves the port */

static char received[NUM_CONSOLE][TEXT];
static uint32_t length[NUM_CONSOLE];
static uint32_t stream;
static uint32_t shifted;

static void receive(uint8_t byte)
{
    if (!shifted && byte == CONSOLE_SWITCH) {
        shifted = 1;
        return;
    }
    if (shifted && byte != CONSOLE_SWITCH) {
        shifted = 0;
        stream = byte - CONSOLE_STREAM_BASE;
        CHECK(stream < NUM_CONSOLE);
        return;
    }
    shifted = 0;
    if (CHECK(length[stream] < TEXT)) {
        received[stream][length[stream]++] = (char)byte;
    }
}

/* One interrupt of the transmitter with room for `room` bytes. */
static void transmit(uint32_t room)
{
    char bytes[64];

    hosted_serial_set_room(room);
    console_interrupt();
    uint32_t n = hosted_serial_output(bytes, sizeof bytes);
    CHECK(n <= room && n <= 2);
    for (uint32_t i = 0; i < n; i++) {
        receive((uint8_t)bytes[i]);
    }
}

/* 1: the port, or a writer, interrupts. */
static uint32_t interrupts(void)
{
    uint32_t asked = hosted_raised(SERVER, VECTOR_BASE + SERIAL_LINE);

    hosted_lower(SERVER, VECTOR_BASE + SERIAL_LINE);
    return asked || hosted_serial_transmit_enabled();
}

static void transmit_all(void)
{
    for (uint32_t i = 0; interrupts() && i < 1000000; i++) {
        transmit(test_random(17));
    }
    CHECK_EQUAL(interrupts(), 0);
}

static void start(void)
{
    hosted_reset(2);
    console_init();
    console_serve_on(SERVER);
    memset(length, 0, sizeof length);
    stream = 0;
    shifted = 0;
}

static void random_writers(void)
{
    static char sent[NUM_CONSOLE][TEXT];
    uint32_t sent_length[NUM_CONSOLE] = {0};

    start();
    test_random_start();
    for (uint64_t i = 0; i < test_operations(20000); i++) {
        uint32_t c = test_random(NUM_CONSOLE);
        uint32_t count = test_random(9);
        uint64_t word = test_random_of(&test_state);
        if (test_random(4) == 0) {
            word = (word & 0xffffffffffffff00ul) | CONSOLE_SWITCH;
        }
        if (sent_length[c] + count > TEXT) {
            continue;
        }
        uint32_t taken = console_put(c, word, count);
        CHECK(taken <= count);
        for (uint32_t j = 0; j < taken; j++) {
            sent[c][sent_length[c]++] = (char)(word >> 8 * j);
        }
        if (test_random(3) == 0) {
            uint32_t idle = !interrupts();
            transmit(test_random(17));
            CHECK(!idle || !interrupts()); /* without output it asks for no other */
        }
        CHECK_EQUAL(console_check(), 0);
    }
    transmit_all();
    for (uint32_t c = 0; c < NUM_CONSOLE; c++) {
        CHECK_EQUAL(length[c], sent_length[c]);
        CHECK(memcmp(received[c], sent[c], sent_length[c]) == 0);
    }
}

/* A single byte of one console is sent within a round of turns although another console always has output. */
static void fairness(void)
{
    start();
    while (console_put(1, 0x6161616161616161ul, 8) == 8) {
    }
    CHECK_EQUAL(console_put(1, 'a', 1), 0); /* full */
    CHECK_EQUAL(console_put(2, 'b', 1), 1);
    for (uint32_t i = 0; i < CONSOLE_BURST && length[2] == 0; i++) { /* two bytes each */
        transmit(16);
    }
    CHECK_EQUAL(length[2], 1);
    transmit_all();
    CHECK_EQUAL(length[1], CONSOLE_RING);
}

static void input(void)
{
    static const char typed[] = {'k', 0x0e, 0x42, 'h', 'i', 0x0e, 0x0e, 0x0e, 0x7f, 'x', 0x0e, 0x40, 'y'};
    uint32_t reached = 0;

    start();
    hosted_serial_input(typed, sizeof typed);
    for (uint32_t i = 0; i < sizeof typed; i++) { /* one byte each */
        reached |= console_interrupt();
    }
    CHECK_EQUAL(reached, 1u << 0 | 1u << 2);
    CHECK_EQUAL(console_interrupt(), 0);
    CHECK_EQUAL(console_get(0), 'k');
    CHECK_EQUAL(console_get(0), 'y');
    CHECK_EQUAL(console_get(0), NONE);
    CHECK_EQUAL(console_get(2), 'h');
    CHECK_EQUAL(console_get(2), 'i');
    CHECK_EQUAL(console_get(2), 0x0e);
    CHECK_EQUAL(console_get(2), 'x'); /* no console 0x7f: the stream stays */
    CHECK_EQUAL(console_get(2), NONE);
    for (uint32_t i = 0; i < CONSOLE_INPUT_RING; i++) {
        CHECK_EQUAL(console_input(3, i % 256), 1);
    }
    CHECK_EQUAL(console_input(3, 'z'), 0);
    CHECK_EQUAL(console_check(), 0);
    for (uint32_t i = 0; i < CONSOLE_INPUT_RING; i++) {
        CHECK_EQUAL(console_get(3), i % 256);
    }
}

/* Where there is both to receive and to send, interrupts do one and the other in turn. */
static void both(void)
{
    char bytes[64];

    start();
    hosted_serial_input("abc", 3);
    console_put(0, 0x64656e696172ul, 6);
    for (uint32_t i = 0; i < 3; i++) {
        hosted_serial_set_room(16);
        CHECK_EQUAL(console_interrupt(), 1);
        CHECK_EQUAL(hosted_serial_output(bytes, sizeof bytes), 0);
        CHECK_EQUAL(console_get(0), 'a' + i);
        CHECK_EQUAL(hosted_serial_transmit_enabled(), 1);
        hosted_serial_set_room(16);
        CHECK_EQUAL(console_interrupt(), 0);
        CHECK_EQUAL(hosted_serial_output(bytes, sizeof bytes), 2);
        CHECK_EQUAL(console_get(0), NONE);
    }
    hosted_serial_input("de", 2);
    for (uint32_t i = 0; i < 2; i++) { /* nothing to send, or no room for it */
        console_put(0, 'x', i);
        hosted_serial_set_room(i == 0 ? 16 : 0);
        CHECK_EQUAL(console_interrupt(), 1);
    }
    CHECK_EQUAL(console_check(), 0);
}

static void drain(void)
{
    char bytes[64];

    start();
    console_put(0, 0x64656e696172ul, 6);
    hosted_serial_set_room(16);
    console_drain();
    CHECK_EQUAL(hosted_serial_output(bytes, sizeof bytes), 6);
    CHECK(memcmp(bytes, "rained", 6) == 0);
}

int main(void)
{
    random_writers();
    fairness();
    input();
    both();
    drain();
    return TEST_END();
}
