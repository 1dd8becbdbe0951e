/* A stream that plays and one that records, on registers that are memory at the place where the driver looks for them: each has
 * registers, list, ring and interrupt of its own. */
#define _GNU_SOURCE
/* A one that is written into a stream's status clears the bit. */
#define register_write8 write_memory8
#include "ashlar/driver.h"
#undef register_write8

static void register_write8(uint32_t offset, uint8_t value);

#include "../stream.c"

#include <string.h>
#include <sys/mman.h>

#include "../../../libc/tests/check.h"

#define INPUTS 4u
#define OUTPUTS 2u
#define AREA_BYTES 65536u
#define LISTS_AT 0x7000000ul /* as the device sees it */
#define AREAS_AT 0x10000000ul
#define PERIOD 4096u
#define PERIODS 4u

static uint8_t lists[DIRECTIONS * NUM_FRAGMENT * sizeof(struct fragment)];
static uint8_t area[2][AREA_BYTES];
static uint32_t turn;
static struct stream stream[2];

static void register_write8(uint32_t offset, uint8_t value)
{
    uint32_t is_status = offset >= SD(0) && (offset - SD(0)) % 0x20u == SD_STS;

    write_memory8(offset, is_status ? (uint8_t)(register_read8(offset) & ~value) : value);
}

uint64_t dma_size(uint32_t protocol)
{
    return protocol == PCI_NUMBER ? sizeof lists : AREA_BYTES;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    CHECK(offset < dma_size(protocol));
    return protocol == PCI_NUMBER ? lists + offset : area[turn] + offset;
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    CHECK(offset < dma_size(protocol));
    return protocol == PCI_NUMBER ? LISTS_AT + offset : AREAS_AT * (turn + 1u) + offset;
}

void clients_emit(uint32_t mailbox, uint64_t cookie)
{
    CHECK(mailbox == PCI_ACCESS && cookie == 0);
}

/* Client 0 plays, client 1 records: its registers are the first, behind which stand those of the streams that play. */
static uint32_t number_of_client(uint32_t client)
{
    return client == 0 ? INPUTS : 0u;
}

static void begin(uint32_t client)
{
    struct stream *s = &stream[client];

    turn = client;
    s->direction = client == 0 ? PLAY : RECORD;
    s->format = 0x11u;
    CHECK(set_ring(s, client * PERIOD, PERIOD, PERIODS));
    start_stream(s);
    s->state = RUNNING;
}

static void begin_both(void)
{
    for (uint32_t offset = 0; offset < 4096; offset += 4) {
        register_write32(offset, 0);
    }
    register_write16(GCAP, OUTPUTS << 12 | INPUTS << 8 | GCAP_64);
    interrupts = 0;
    begin(0);
    begin(1);
}

static void test_registers(void)
{
    begin_both();
    for (uint32_t client = 0; client < 2; client++) {
        uint32_t registers = SD(number_of_client(client));
        uint32_t direction = stream[client].direction;
        CHECK(register_read8(registers + SD_CTL) == (CTL_RUN | CTL_IOCE | CTL_FEIE | CTL_DEIE));
        CHECK(register_read8(registers + SD_CTL_TOP) == STREAM_TAG(direction) << 4);
        CHECK(register_read32(registers + SD_CBL) == PERIOD * PERIODS);
        CHECK(register_read16(registers + SD_LVI) == PERIODS - 1u);
        CHECK(register_read32(registers + SD_BDPL) == LISTS_AT + direction * LIST_SIZE);
    }
    CHECK(STREAM_TAG(PLAY) != STREAM_TAG(RECORD) && STREAM_TAG(PLAY) != 0);
    CHECK(register_read32(INTCTL) == (INTCTL_GIE | 1u << INPUTS | 1u));
}

/* Every fragment is of the own client's area. */
static void test_lists(void)
{
    begin_both();
    for (uint32_t client = 0; client < 2; client++) {
        const struct fragment *f = (const struct fragment *)(lists + stream[client].direction * LIST_SIZE);
        for (uint32_t i = 0; i < PERIODS; i++) {
            CHECK(f[i].low == AREAS_AT * (client + 1u) + client * PERIOD + i * PERIOD && f[i].high == 0);
            CHECK(f[i].length == PERIOD && f[i].flags == FRAGMENT_IOC);
        }
    }
}

/* The device has come so far in one client's ring, and in the other's has not, though that interrupts too. */
static void test_advance(uint32_t client)
{
    uint32_t own = SD(number_of_client(client)), other = SD(number_of_client(1u - client));

    begin_both();
    memset(area, 0x55, sizeof area);
    register_write32(own + SD_LPIB, 2u * PERIOD + 4u);
    write_memory8(own + SD_STS, STS_BCIS);
    write_memory8(other + SD_STS, STS_BCIS);
    turn = client;
    CHECK(stream_advances(&stream[client]));
    CHECK(stream[client].position == 2u * PERIOD && stream[1u - client].position == 0);
    CHECK(register_read8(own + SD_STS) == 0 && register_read8(other + SD_STS) == STS_BCIS);
    turn = 1u - client;
    CHECK(!stream_advances(&stream[1u - client]));
    /* What was played is silence; what was recorded is not touched. */
    uint32_t at = client * PERIOD;
    CHECK(area[client][at] == (client == 0 ? 0 : 0x55) && area[client][at + 2u * PERIOD - 1u] == area[client][at]);
    CHECK(area[client][at + 2u * PERIOD] == 0x55 && area[1u - client][0] == 0x55);
}

/* One that stops leaves the other running, with its interrupt. */
static void test_stop(uint32_t client)
{
    begin_both();
    stop_stream(&stream[client], 1);
    CHECK(register_read8(SD(number_of_client(client)) + SD_CTL) == 0);
    CHECK((register_read8(SD(number_of_client(1u - client)) + SD_CTL) & CTL_RUN) != 0);
    CHECK(register_read32(INTCTL) == (INTCTL_GIE | 1u << number_of_client(1u - client)));
    stop_stream(&stream[1u - client], 1);
    CHECK(register_read32(INTCTL) == 0);
}

static void advance_to(uint32_t client, uint32_t place)
{
    uint32_t registers = SD(number_of_client(client));

    turn = client;
    register_write32(registers + SD_LPIB, place);
    write_memory8(registers + SD_STS, STS_BCIS);
    CHECK(stream_advances(&stream[client]));
}

/* A ring is over once nothing is left to play; one that records, when the device would begin to write over what was not taken. */
static void test_over(void)
{
    begin_both();
    fill_stream(&stream[0], PERIOD + 4u);
    CHECK(!stream_is_over(&stream[0]) && !stream_is_over(&stream[1]));
    advance_to(0, PERIOD);
    CHECK(!stream_is_over(&stream[0]));
    advance_to(0, 2u * PERIOD);
    CHECK(stream_is_over(&stream[0]));
    advance_to(1, 3u * PERIOD);
    CHECK(!stream_is_over(&stream[1]));
    advance_to(1, 0);
    CHECK(stream_is_over(&stream[1]) && stream[1].position == PERIODS * PERIOD);
    fill_stream(&stream[1], PERIOD - 4u);
    CHECK(stream_is_over(&stream[1]));
    fill_stream(&stream[1], PERIOD);
    CHECK(!stream_is_over(&stream[1]));
}

int main(void)
{
    void *place = mmap((void *)REGISTERS_ADDRESS, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(place == (void *)REGISTERS_ADDRESS);
    test_registers();
    test_lists();
    test_advance(0);
    test_advance(1);
    test_stop(0);
    test_stop(1);
    test_over();
    return 0;
}
