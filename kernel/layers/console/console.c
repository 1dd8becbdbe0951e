/* Named byte streams over the one serial port. */
#include "console.h"

#include "arch.h"
#include "console_parts.h"
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

/* Guarded by LOCK_CONSOLE, but for `cpu`, which is constant after start-up. */
struct console_port {
    uint32_t cpu;        /* serves the port's interrupt: the only one that accesses the port */
    uint32_t filled;     /* bit c: console c has output */
    uint32_t turn;       /* the console that sends */
    uint32_t left;       /* bytes that it may still send before the next one's turn */
    uint32_t due;        /* second byte of a pair whose first was sent, or NONE */
    uint32_t sending;    /* 1: an interrupt will come that sends what is stored */
    uint32_t out_stream; /* the stream that the receiver has selected once `due` is sent */
    uint32_t in_stream;  /* the console that received bytes go to */
    uint32_t in_shift;   /* 1: the last byte received was CONSOLE_SWITCH */
    uint32_t sends;      /* 1: the last interrupt has received, so that this one sends. Guarded by LOCK_CONSOLE_PORT */
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
    console_port[0].cpu = 0u;
    console_port[0].filled = 0u;
    console_port[0].turn = 0u;
    console_port[0].left = 0u;
    console_port[0].due = NONE;
    console_port[0].sending = 0u;
    console_port[0].out_stream = 0u;
    console_port[0].in_stream = 0u;
    console_port[0].in_shift = 0u;
    console_port[0].sends = 0u;
}

void console_serve_on(uint32_t cpu)
{
    console_port[0].cpu = cpu;
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
    if (console_ring[c].out_count == 0u) {
        console_port[0].filled = console_port[0].filled & ~(1u << c);
    }
    return byte;
}

/* The console that sends now. Its turn ends when it has no more output or has sent its burst; then comes the next
 * lower one with output. Requires: lock held, some console has output. */
static uint32_t console_sender(void)
{
    uint32_t c = console_port[0].turn;
    uint32_t filled = console_port[0].filled;
    if (console_port[0].left == 0u || ((filled >> c) & 1u) == 0u) {
        uint32_t below = filled & ((1u << c) - 1u);
        if (below == 0u) {
            below = filled;
        }
        c = arch_highest_bit((uint64_t)below);
        console_port[0].turn = c;
        console_port[0].left = CONSOLE_BURST;
    }
    return c;
}

uint32_t console_next_byte(void)
{
    uint32_t byte = console_port[0].due;
    if (byte != NONE) {
        console_port[0].due = NONE;
        return byte;
    }
    if (console_port[0].filled == 0u) {
        return NONE;
    }
    uint32_t c = console_sender();
    if (console_port[0].out_stream != c) {
        console_port[0].out_stream = c;
        console_port[0].due = CONSOLE_STREAM_BASE + c;
        return CONSOLE_SWITCH;
    }
    byte = console_take_output(c);
    console_port[0].left = console_port[0].left - 1u;
    if (byte == CONSOLE_SWITCH) {
        console_port[0].due = byte;
    }
    return byte;
}

uint32_t console_put(uint32_t console, uint64_t word, uint32_t count)
{
    uint32_t taken = 0u;
    uint32_t start = 0u;
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
    if (taken > 0u) {
        console_port[0].filled = console_port[0].filled | (1u << console);
        start = 1u - console_port[0].sending;
        console_port[0].sending = 1u;
    }
    uint32_t cpu = console_port[0].cpu;
    spinlock_release(LOCK_CONSOLE);
    if (start == 1u) {
        arch_interrupt_send(cpu, VECTOR_BASE + SERIAL_LINE); /* as if the transmitter were empty */
    }
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

/* Receives a byte. Returns the bit of the console that got input, or 0. Requires: LOCK_CONSOLE_PORT held, there is a byte. */
static uint32_t console_take_byte(void)
{
    uint32_t received = arch_serial_get();
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t mask = console_receive(received);
    console_port[0].sends = console_port[0].sending;
    spinlock_release(LOCK_CONSOLE);
    return mask;
}

/* Sends up to two bytes. Requires: LOCK_CONSOLE_PORT held, the transmitter has this much room. */
static void console_send_bytes(uint32_t room)
{
    uint32_t first = NONE;
    uint32_t second = NONE;
    spinlock_acquire(LOCK_CONSOLE);
    if (room > 0u) {
        first = console_next_byte();
    }
    if (room > 1u) {
        second = console_next_byte();
    }
    if (room > 0u && first == NONE) {
        console_port[0].sending = 0u;
    }
    spinlock_release(LOCK_CONSOLE);
    console_port[0].sends = 0u;
    if (first != NONE) {
        arch_serial_put(first);
    }
    if (second != NONE) {
        arch_serial_put(second);
    }
}

/* The end of an interrupt: what has been received or is left to send meanwhile raises a new one. A writer that finds `sending`
 * 0 interrupts this CPU, so it does not matter that it may be here already. Requires: LOCK_CONSOLE_PORT held. */
static void console_interrupt_end(void)
{
    spinlock_acquire(LOCK_CONSOLE);
    uint32_t sending = console_port[0].sending;
    spinlock_release(LOCK_CONSOLE);
    arch_serial_transmit_interrupt(sending);
    spinlock_release(LOCK_CONSOLE_PORT);
}

/* An interrupt receives or sends, in turn where there is both to do: what is left raises the next one. The two ways do not meet
 * again before their end, so that the timing analysis does not add up what no interrupt does: sending, and waking a reader. */
uint32_t console_interrupt(void)
{
    uint32_t mask = 0u;
    spinlock_acquire(LOCK_CONSOLE_PORT);
    uint32_t status = arch_serial_status();
    uint32_t room = status & SERIAL_ROOM;
    if ((status & SERIAL_RECEIVED) != 0u && (room == 0u || console_port[0].sends == 0u)) {
        mask = console_take_byte();
        console_interrupt_end();
        return mask;
    }
    console_send_bytes(room);
    console_interrupt_end();
    return 0u;
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
    uint32_t byte = console_next_byte();
    while (byte != NONE && idle < CONSOLE_MAX_POLLS) {
        uint32_t status = arch_serial_status();
        idle = idle + 1u;
        if ((status & SERIAL_ROOM) != 0u) {
            arch_serial_put(byte);
            byte = console_next_byte();
            idle = 0u;
        }
    }
    spinlock_release(LOCK_CONSOLE);
    spinlock_release(LOCK_CONSOLE_PORT);
}

/* The invariant of console c. Requires: lock held. */
static uint32_t console_check_one(uint32_t c)
{
    uint32_t filled = (console_port[0].filled >> c) & 1u;
    if (console_ring[c].out_first >= CONSOLE_RING || console_ring[c].out_count > CONSOLE_RING) {
        return 1u;
    }
    if (console_ring[c].in_first >= CONSOLE_INPUT_RING || console_ring[c].in_count > CONSOLE_INPUT_RING) {
        return 2u;
    }
    if ((filled == 1u && console_ring[c].out_count == 0u) || (filled == 0u && console_ring[c].out_count > 0u)) {
        return 3u;
    }
    return 0u;
}

uint32_t console_check(void)
{
    uint32_t broken = 0u;
    spinlock_acquire(LOCK_CONSOLE);
    for (uint32_t c = 0u; c < NUM_CONSOLE; c = c + 1u) {
        uint32_t found = console_check_one(c);
        if (found != 0u) {
            broken = found;
        }
    }
    if (console_port[0].filled != 0u && console_port[0].sending == 0u) {
        broken = 4u;
    }
    spinlock_release(LOCK_CONSOLE);
    return broken;
}
