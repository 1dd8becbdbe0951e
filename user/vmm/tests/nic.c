/* Frames between the queues of a guest and a network that this test plays: cut into segments in every way, too long, too short, and
 * with nowhere to go. */
#include "../virtio/chain.c"
#include "../virtio/nic.c"

#include "../../libc/tests/check.h"

static const uint8_t own[NETWORK_ADDRESS] = {2, 3, 4, 5, 6, 7};
static uint8_t arrived[1600], sending[2048];
static uint32_t arrived_bytes, num_taken, num_sent, sent_bytes, num_changed;
static uint32_t is_open, is_up, is_full;

const uint8_t *network_address(void)
{
    return own;
}

uint32_t network_is_open(void)
{
    return is_open;
}

uint32_t network_is_up(void)
{
    return is_up;
}

const uint8_t *network_first(uint32_t *bytes)
{
    *bytes = arrived_bytes;
    return arrived_bytes != 0 ? arrived : 0;
}

void network_take(void)
{
    num_taken++;
}

uint8_t *network_frame(void)
{
    return is_open && is_full == 0 ? sending : 0;
}

void network_send(uint32_t bytes)
{
    num_sent++;
    sent_bytes = bytes;
}

void virtio_configuration_changed(struct virtio *to)
{
    (void)to;
    num_changed++;
}

static uint8_t memory[4096];

/* A chain of `bytes` of memory, cut into pieces of `piece` bytes. */
static struct chain make(uint32_t bytes, uint32_t piece, uint32_t is_writable)
{
    struct chain chain = {.head = 3};
    for (uint32_t at = 0; at < bytes; at += piece) {
        uint32_t rest = bytes - at;
        chain.segment[chain.readable + chain.writable] = (struct segment){memory + at, rest < piece ? rest : piece};
        chain.readable += is_writable == 0;
        chain.writable += is_writable;
    }
    return chain;
}

static void test_receive(void)
{
    uint32_t written = 0;
    arrived_bytes = 0;
    CHECK(nic_has_room(NIC_RECEIVE) == 0);
    for (uint32_t i = 0; i < sizeof arrived; i++) {
        arrived[i] = (uint8_t)(7 * i + 1);
    }
    for (uint32_t piece = 26; piece < 1600; piece += 37) { /* 26: all segments that a chain can have */
        struct chain chain = make(1526, piece, 1);
        uint32_t before = num_taken;
        arrived_bytes = 60 + piece % 1455;
        memset(memory, 0xee, sizeof memory);
        CHECK(nic_has_room(NIC_RECEIVE) && nic_begin(NIC_RECEIVE, &chain, &written) == VIRTIO_ANSWERED);
        CHECK(written == HEADER + arrived_bytes && num_taken == before + 1);
        CHECK(get(memory, 8) == 0 && get(memory + 8, 4) == 1u << 16);
        CHECK(memcmp(memory + HEADER, arrived, arrived_bytes) == 0 && memory[HEADER + arrived_bytes] == 0xee);
    }
    arrived_bytes = 1515; /* one byte more than the buffer has room for: lost, and the guest sees an empty frame */
    struct chain tight = make(1526, 1526, 1);
    CHECK(nic_begin(NIC_RECEIVE, &tight, &written) == VIRTIO_ANSWERED && written == HEADER);
    struct chain small = make(HEADER - 1, 100, 1);
    CHECK(nic_begin(NIC_RECEIVE, &small, &written) == VIRTIO_MALFORMED);
    struct chain wrong = make(1526, 1526, 0); /* nothing that may be written */
    CHECK(nic_begin(NIC_RECEIVE, &wrong, &written) == VIRTIO_MALFORMED);
}

/* What becomes of `bytes` of a frame behind the header. */
static enum virtio_answer send(uint32_t bytes, uint32_t piece)
{
    uint32_t written = 99;
    struct chain chain = make(HEADER + bytes, piece, 0);
    enum virtio_answer answer = nic_begin(NIC_TRANSMIT, &chain, &written);
    CHECK(written == 99);
    return answer;
}

static void test_transmit(void)
{
    uint32_t written = 0;
    is_open = 1;
    for (uint32_t i = 0; i < sizeof memory; i++) {
        memory[i] = (uint8_t)(5 * i + 2);
    }
    for (uint32_t piece = 25; piece < 1600; piece += 31) {
        uint32_t bytes = 14 + piece % 1501, before = num_sent;
        memset(sending, 0, sizeof sending);
        CHECK(nic_has_room(NIC_TRANSMIT) && send(bytes, piece) == VIRTIO_ANSWERED);
        CHECK(num_sent == before + 1 && sent_bytes == bytes);
        CHECK(memcmp(sending, memory + HEADER, bytes) == 0 && sending[bytes] == 0);
    }
    uint32_t before = num_sent;
    CHECK(send(13, 100) == VIRTIO_ANSWERED && send(1515, 2000) == VIRTIO_ANSWERED && send(0, 100) == VIRTIO_ANSWERED);
    CHECK(num_sent == before); /* no frames of Ethernet */
    struct chain small = make(HEADER - 1, 100, 0);
    CHECK(nic_begin(NIC_TRANSMIT, &small, &written) == VIRTIO_MALFORMED);
    is_full = 1;
    CHECK(nic_has_room(NIC_TRANSMIT) == 0);
    is_full = 0;
    is_open = 0; /* without a driver the guest's frames are lost, and it goes on */
    CHECK(nic_has_room(NIC_TRANSMIT) && send(60, 100) == VIRTIO_ANSWERED && num_sent == before);
}

static void test_configuration(void)
{
    static struct virtio nic;
    uint32_t was = nic_generation();
    nic_changed();
    CHECK(num_changed == 0 && nic_generation() != was);
    nic_attach(&nic);
    is_up = 1;
    nic_changed();
    CHECK(num_changed == 1 && nic_configuration(ADDRESS) == 0x0001070605040302ul && nic_configuration(STATUS) == 1);
    is_up = 0;
    CHECK(nic_configuration(STATUS) == 0 && (uint8_t)nic_configuration(1) == 3);
    CHECK(nic_configuration(CONFIGURATION) == 0 && nic_configuration(0xff) == 0);
}

int main(void)
{
    test_receive();
    test_transmit();
    test_configuration();
    return 0;
}
