/* Named byte streams over the one serial port. */
#include "console.h"

#include "arch.h"
#include "spinlock.h"

/* Guarded by LOCK_CONSOLE. first and count describe the filled part of a ring: 0 <= first < size, count <= size. */
struct console_ring {
    uint32_t out_first;
    uint32_t out_count;
    uint32_t in_first;
    uint32_t in_count;
    uint8_t out[CONSOLE_RING];
    uint8_t in[CONSOLE_INPUT_RING];
};

/* Guarded by LOCK_CONSOLE. */
struct console_port {
    uint32_t out_stream; /* the stream that the receiver has selected once the burst is sent */
    uint32_t in_stream;  /* the console that received bytes go to */
    uint32_t in_shift;   /* 1: the last byte received was CONSOLE_SWITCH */
    uint32_t turn;       /* the console that sends next */
    uint32_t stored;     /* output bytes in all rings */
    uint32_t sending;    /* 1: the transmitter interrupt is on */
};

/* Bytes taken from the rings and not yet given to the transmitter. Guarded by LOCK_CONSOLE_PORT. next <= count <=
 * size. */
struct console_burst {
    uint32_t next;
    uint32_t count;
    uint8_t byte[CONSOLE_BURST];
};

static struct console_burst console_burst[1];
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
    console_burst[0].next = 0u;
    console_burst[0].count = 0u;
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

/* Requires: both locks held, the burst has room. */
static void console_collect_byte(uint32_t byte)
{
    uint32_t count = console_burst[0].count;
    console_burst[0].byte[count] = (uint8_t)byte;
    console_burst[0].count = count + 1u;
}

/* Requires: both locks held, the burst has been sent. Ensures: it holds output of the next console that has any;
 * if none has, it is empty. */
static void console_collect(void)
{
    console_burst[0].next = 0u;
    console_burst[0].count = 0u;
    if (console_port[0].stored == 0u) {
        return;
    }
    uint32_t c = console_next();
    if (console_port[0].out_stream != c) {
        console_collect_byte(CONSOLE_SWITCH);
        console_collect_byte(CONSOLE_STREAM_BASE + c);
        console_port[0].out_stream = c;
    }
    for (uint32_t i = 0u; i < CONSOLE_BURST; i = i + 1u) {
        if (console_burst[0].count + 2u > CONSOLE_BURST || console_ring[c].out_count == 0u) {
            break;
        }
        uint32_t byte = console_take_output(c);
        console_collect_byte(byte);
        if (byte == CONSOLE_SWITCH) {
            console_collect_byte(byte);
        }
    }
    console_port[0].turn = (c + 1u) % NUM_CONSOLE;
}

/* Requires: port lock held. Ensures: the transmitter has as much of the burst as it takes. */
static void console_send(void)
{
    uint32_t room = arch_serial_room();
    for (uint32_t i = 0u; i < CONSOLE_SENT; i = i + 1u) {
        if (room == 0u || console_burst[0].next >= console_burst[0].count) {
            break;
        }
        uint32_t byte = (uint32_t)console_burst[0].byte[console_burst[0].next];
        arch_serial_put(byte);
        console_burst[0].next = console_burst[0].next + 1u;
        room = room - 1u;
    }
}

uint32_t console_put(uint32_t console, uint64_t word, uint32_t count)
{
    uint32_t taken = 0u;
    uint64_t rest = word;
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t stored = console_ring[console].out_count;
    while (taken < 8u && taken < count && stored < CONSOLE_RING) {
        uint32_t place = (console_ring[console].out_first + stored) % CONSOLE_RING;
        console_ring[console].out[place] = (uint8_t)(rest & 0xfful);
        rest = rest >> 8u;
        stored = stored + 1u;
        taken = taken + 1u;
    }
    console_ring[console].out_count = stored;
    console_port[0].stored = console_port[0].stored + taken;
    if (taken > 0u && console_port[0].sending == 0u) {
        console_port[0].sending = 1u;
        arch_serial_transmit_interrupt(1u); /* interrupts at once: the transmitter is empty */
    }
    spinlock_release(LOCK_CONSOLE);
    return taken;
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

/* Decodes one received byte of the switching protocol. Requires: lock held. Returns the bit of the console that got
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

/* Takes received bytes from the port. Requires: port lock held. Returns the consoles that got input. */
static uint32_t console_receive_all(void)
{
    uint32_t mask = 0u;
    for (uint32_t i = 0u; i < CONSOLE_INPUTS; i = i + 1u) {
        uint32_t byte = arch_serial_get();
        if (byte == NONE) {
            break;
        }
        spinlock_acquire(LOCK_CONSOLE);
        uint32_t bit = console_receive(byte);
        spinlock_release(LOCK_CONSOLE);
        mask = mask | bit;
    }
    return mask;
}

uint32_t console_interrupt(void)
{
    spinlock_acquire(LOCK_CONSOLE_PORT);
    uint32_t mask = console_receive_all();
    if (console_burst[0].next == console_burst[0].count) {
        spinlock_acquire(LOCK_CONSOLE);
        console_collect();
        if (console_burst[0].count == 0u) {
            console_port[0].sending = 0u;
            arch_serial_transmit_interrupt(0u); /* under the lock: the next writer turns it on again */
        }
        spinlock_release(LOCK_CONSOLE);
    }
    if (console_burst[0].count > 0u) {
        console_send();
        arch_serial_transmit_interrupt(1u); /* last: remaining output raises a new interrupt */
    }
    spinlock_release(LOCK_CONSOLE_PORT);
    return mask;
}

uint32_t console_input(uint32_t console, uint32_t byte)
{
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t taken = console_store_input(console, byte);
    spinlock_release(LOCK_CONSOLE);
    return taken;
}

/* After this many polls without progress the transmitter is considered dead: no real port is that slow. */
#define CONSOLE_MAX_POLLS 1000000u

void console_drain(void)
{
    uint32_t idle = 0u;
    spinlock_acquire(LOCK_CONSOLE_PORT);
    spinlock_acquire(LOCK_CONSOLE);
    if (console_burst[0].next == console_burst[0].count) {
        console_collect();
    }
    while (console_burst[0].count > 0u && idle < CONSOLE_MAX_POLLS) {
        uint32_t before = console_burst[0].next;
        console_send();
        idle = idle + 1u;
        if (console_burst[0].next > before) {
            idle = 0u;
        }
        if (console_burst[0].next == console_burst[0].count) {
            console_collect();
        }
    }
    spinlock_release(LOCK_CONSOLE);
    spinlock_release(LOCK_CONSOLE_PORT);
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
