/* Host test of the I/O interrupt controller: edges and levels, masks, ends, its registers. */
#include "../devices/ioapic.c"

#include "../../libc/tests/check.h"

static struct ioapic ioapic;
static uint32_t messages, last_destination, last_logical, last_mode, last_vector, last_level;

void ioapic_send(uint32_t destination, uint32_t is_logical, uint32_t mode, uint32_t vector, uint32_t is_level)
{
    messages++;
    last_destination = destination;
    last_logical = is_logical;
    last_mode = mode;
    last_vector = vector;
    last_level = is_level;
}

static uint32_t ended, lowered_at_end; /* the last input whose interrupt was ended; one whose source is quiet then */

void ioapic_ended(uint32_t input)
{
    ended = input;
    if (input == lowered_at_end) {
        ioapic_set_line(&ioapic, input, 0);
    }
}

static void write_register(uint32_t index, uint32_t value)
{
    ioapic_write(&ioapic, REG_SELECT, index);
    ioapic_write(&ioapic, REG_WINDOW, value);
}

static uint32_t read_register(uint32_t index)
{
    ioapic_write(&ioapic, REG_SELECT, index);
    return ioapic_read(&ioapic, REG_WINDOW);
}

static void reset(void)
{
    ioapic_init(&ioapic);
    messages = 0;
    ended = IOAPIC_INPUTS;
    lowered_at_end = IOAPIC_INPUTS;
}

static void sends_edges(void)
{
    reset();
    ioapic_set_line(&ioapic, 4, 1); /* masked: lost, as an edge is */
    write_register(0x18, 0x31);
    CHECK(messages == 0);
    ioapic_set_line(&ioapic, 4, 0);
    write_register(0x19, 0x02000000);
    write_register(0x18, 0x931); /* logical, lowest priority */
    ioapic_set_line(&ioapic, 4, 1);
    ioapic_set_line(&ioapic, 4, 1);
    CHECK(messages == 1 && last_destination == 2 && last_logical == 1 && last_mode == 1 && last_vector == 0x31);
    CHECK(last_level == 0);
    ioapic_set_line(&ioapic, 4, 0);
    ioapic_set_line(&ioapic, 4, 1);
    CHECK(messages == 2);
}

static void repeats_levels(void)
{
    reset();
    write_register(0x24, 0x8041); /* input 10 */
    ioapic_set_line(&ioapic, 10, 1);
    CHECK(messages == 1 && last_level == 1 && (read_register(0x24) & ENTRY_BUSY) != 0);
    ioapic_set_line(&ioapic, 10, 0);
    ioapic_set_line(&ioapic, 10, 1);
    CHECK(messages == 1); /* not before its end */
    ioapic_end(&ioapic, 0x42);
    CHECK(messages == 1);
    ioapic_end(&ioapic, 0x41);
    CHECK(messages == 2);
    ioapic_set_line(&ioapic, 10, 0);
    ioapic_write(&ioapic, REG_END, 0x41);
    CHECK(messages == 2 && (read_register(0x24) & ENTRY_BUSY) == 0);
    write_register(0x24, 0x18041); /* masked */
    ioapic_set_line(&ioapic, 10, 1);
    CHECK(messages == 2);
    write_register(0x24, 0x8041);
    CHECK(messages == 3);
}

/* A source that is quiet once its interrupt was ended is told before the level is looked at again. */
static void tells_of_ends(void)
{
    reset();
    lowered_at_end = 14;
    write_register(0x2c, 0x8041); /* input 14 */
    write_register(0x24, 0x8042); /* input 10 */
    ioapic_set_line(&ioapic, 14, 1);
    ioapic_set_line(&ioapic, 10, 1);
    CHECK(messages == 2);
    ioapic_end(&ioapic, 0x43);
    CHECK(ended == IOAPIC_INPUTS);
    ioapic_end(&ioapic, 0x41);
    CHECK(ended == 14 && messages == 2);
    ioapic_end(&ioapic, 0x42);
    CHECK(ended == 10 && messages == 3);
}

static void keeps_its_registers(void)
{
    reset();
    CHECK(read_register(1) == 0x00170020 && read_register(0x10) == ENTRY_MASKED);
    write_register(1, 0xffffffff);
    write_register(0x10, 0xffffffff);
    write_register(0x11, 0xffffffff);
    CHECK(read_register(1) == 0x00170020 && read_register(0x10) == 0x1afff && read_register(0x11) == 0xff000000);
    for (uint32_t index = 0; index < 512; index++) { /* beyond the entries is nothing */
        write_register(index, 0x10000);
        (void)read_register(index);
    }
    write_register(0x12, 0x731); /* an entry for the 8259 pair, which has no input here */
    ioapic_set_line(&ioapic, 1, 1);
    CHECK(messages == 0);
}

int main(void)
{
    sends_edges();
    repeats_levels();
    tells_of_ends();
    keeps_its_registers();
    return 0;
}
