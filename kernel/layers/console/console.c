/* Named byte streams over the one serial port. */
#include "console.h"

#include "arch.h"
#include "spinlock.h"

/* All guarded by LOCK_CONSOLE. first and count describe the filled part of a ring: 0 <= first < size, count <= size. */
struct console_ring {
    uint32_t out_first;
    uint32_t out_count;
    uint32_t in_first;
    uint32_t in_count;
    uint8_t out[CONSOLE_RING];
    uint8_t in[CONSOLE_INPUT_RING];
};

struct console_port {
    uint32_t out_stream; /* the console whose bytes the receiver expects */
    uint32_t in_stream;  /* the console the received bytes are for */
    uint32_t in_shift;   /* 1: the last byte received was CONSOLE_SWITCH */
    uint32_t turn;       /* the console that sends next */
    uint32_t stored;     /* output bytes in all rings */
    uint32_t sending;    /* 1: the transmitter interrupt is on */
};

static struct console_ring console_ring[NUM_CONSOLE];
static struct console_port console_port[1];

void console_init(void)
{
    for (uint32_t c = 0u; c < NUM_CONSOLE; c = c + 1u) {
        console_ring[c].out_first = 0u;
        console_ring[c].out_count = 0u;
        console_ring[c].in_first = 0u;
        console_ring[c].in_count = 0u;
    }
    console_port[0].out_stream = 0u;
    console_port[0].in_stream = 0u;
    console_port[0].in_shift = 0u;
    console_port[0].turn = 0u;
    console_port[0].stored = 0u;
    console_port[0].sending = 0u;
}

/* Requires: lock held. Ensures: byte appended to c's input, or dropped because the ring is full; returns 1 or 0. */
static uint32_t console_store_input(uint32_t c, uint32_t byte)
{
    uint32_t count = console_ring[c].in_count;
    if (count == CONSOLE_INPUT_RING) {
        return 0u;
    }
    uint32_t place = (console_ring[c].in_first + count) % CONSOLE_INPUT_RING;
    console_ring[c].in[place] = (uint8_t)byte;
    console_ring[c].in_count = count + 1u;
    return 1u;
}

/* Requires: lock held, c has output. Ensures: its oldest byte is removed; returns it. */
static uint32_t console_take_output(uint32_t c)
{
    uint32_t first = console_ring[c].out_first;
    uint32_t byte = (uint32_t)console_ring[c].out[first];
    console_ring[c].out_first = (first + 1u) % CONSOLE_RING;
    console_ring[c].out_count = console_ring[c].out_count - 1u;
    console_port[0].stored = console_port[0].stored - 1u;
    return byte;
}

/* Requires: lock held, some output is stored. Returns the next console, from `turn` on, that has any. */
static uint32_t console_next(void)
{
    uint32_t c = console_port[0].turn;
    for (uint32_t i = 0u; i < NUM_CONSOLE; i = i + 1u) {
        if (console_ring[c].out_count > 0u) {
            return c;
        }
        c = (c + 1u) % NUM_CONSOLE;
    }
    return c;
}

/* Requires: lock held. Ensures: the transmitter has as much as it takes, at most CONSOLE_BURST bytes, of one console. */
static void console_refill(void)
{
    if (console_port[0].stored == 0u) {
        return;
    }
    uint32_t room = arch_serial_room();
    uint32_t c = console_next();
    if (room > CONSOLE_BURST) {
        room = CONSOLE_BURST;
    }
    if (console_port[0].out_stream != c && room >= 4u) {
        arch_serial_put(CONSOLE_SWITCH);
        arch_serial_put(CONSOLE_STREAM_BASE + c);
        console_port[0].out_stream = c;
        room = room - 2u;
    }
    while (console_port[0].out_stream == c && room >= 2u && console_ring[c].out_count > 0u) {
        uint32_t byte = console_take_output(c);
        arch_serial_put(byte);
        room = room - 1u;
        if (byte == CONSOLE_SWITCH) {
            arch_serial_put(byte);
            room = room - 1u;
        }
    }
    console_port[0].turn = (c + 1u) % NUM_CONSOLE;
}

uint32_t console_put(uint32_t console, uint32_t byte)
{
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t count = console_ring[console].out_count;
    if (count == CONSOLE_RING) {
        spinlock_release(LOCK_CONSOLE);
        return 0u;
    }
    uint32_t place = (console_ring[console].out_first + count) % CONSOLE_RING;
    console_ring[console].out[place] = (uint8_t)byte;
    console_ring[console].out_count = count + 1u;
    console_port[0].stored = console_port[0].stored + 1u;
    if (console_port[0].sending == 0u) {
        console_port[0].sending = 1u;
        arch_serial_transmit_interrupt(1u); /* comes at once: the transmitter is empty */
    }
    spinlock_release(LOCK_CONSOLE);
    return 1u;
}

uint32_t console_get(uint32_t console)
{
    uint32_t byte = NONE;
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t first = console_ring[console].in_first;
    if (console_ring[console].in_count > 0u) {
        byte = (uint32_t)console_ring[console].in[first];
        console_ring[console].in_first = (first + 1u) % CONSOLE_INPUT_RING;
        console_ring[console].in_count = console_ring[console].in_count - 1u;
    }
    spinlock_release(LOCK_CONSOLE);
    return byte;
}

/* Requires: lock held. One received byte goes through the switching protocol. Returns the bit of the console that got
 * input, or 0. */
static uint32_t console_receive(uint32_t byte)
{
    uint32_t c = console_port[0].in_stream;
    if (console_port[0].in_shift == 0u && byte == CONSOLE_SWITCH) {
        console_port[0].in_shift = 1u;
        return 0u;
    }
    if (console_port[0].in_shift == 1u && byte != CONSOLE_SWITCH) {
        console_port[0].in_shift = 0u;
        if (byte >= CONSOLE_STREAM_BASE && byte < CONSOLE_STREAM_BASE + NUM_CONSOLE) {
            console_port[0].in_stream = byte - CONSOLE_STREAM_BASE;
        }
        return 0u;
    }
    console_port[0].in_shift = 0u;
    uint32_t taken = console_store_input(c, byte);
    return taken << c;
}

uint32_t console_interrupt(void)
{
    uint32_t mask = 0u;
    spinlock_acquire(LOCK_CONSOLE);
    for (uint32_t i = 0u; i < 2u * CONSOLE_BURST; i = i + 1u) {
        uint32_t byte = arch_serial_get();
        if (byte == NONE) {
            break;
        }
        uint32_t bit = console_receive(byte);
        mask = mask | bit;
    }
    console_refill();
    if (console_port[0].stored == 0u) {
        console_port[0].sending = 0u;
    }
    arch_serial_transmit_interrupt(console_port[0].sending); /* last: what is still waiting makes a new interrupt */
    spinlock_release(LOCK_CONSOLE);
    return mask;
}

uint32_t console_input(uint32_t console, uint32_t byte)
{
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t taken = console_store_input(console, byte);
    spinlock_release(LOCK_CONSOLE);
    return taken;
}

/* A transmitter that takes nothing for this many looks is taken for dead: no real port is that slow. */
#define CONSOLE_PATIENCE 1000000u

void console_drain(void)
{
    uint32_t idle = 0u;
    spinlock_acquire(LOCK_CONSOLE);
    while (console_port[0].stored > 0u && idle < CONSOLE_PATIENCE) {
        uint32_t before = console_port[0].stored;
        console_refill();
        idle = idle + 1u;
        if (console_port[0].stored < before) {
            idle = 0u;
        }
    }
    spinlock_release(LOCK_CONSOLE);
}

uint32_t console_check(void)
{
    uint32_t broken = 0u;
    uint32_t stored = 0u;
    spinlock_acquire(LOCK_CONSOLE);
    for (uint32_t c = 0u; c < NUM_CONSOLE; c = c + 1u) {
        stored = stored + console_ring[c].out_count;
        if (console_ring[c].out_first >= CONSOLE_RING || console_ring[c].out_count > CONSOLE_RING) {
            broken = 1u;
        }
        if (console_ring[c].in_first >= CONSOLE_INPUT_RING || console_ring[c].in_count > CONSOLE_INPUT_RING) {
            broken = 2u;
        }
    }
    if (stored != console_port[0].stored) {
        broken = 3u;
    }
    if (stored > 0u && console_port[0].sending == 0u) {
        broken = 4u;
    }
    spinlock_release(LOCK_CONSOLE);
    return broken;
}
