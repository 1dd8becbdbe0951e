/* The client's requests, in the order they came, and the device's descriptors, in which the first of them stand. */
#include "rtl8139.h"

struct queue transmits;
struct queue receives;
struct ethernet_statistics statistics;

static volatile struct descriptor *descriptor(uint32_t ring, uint32_t index)
{
    return (volatile struct descriptor *)dma_memory(PCI_NUMBER, ring + index * (uint32_t)sizeof(struct descriptor));
}

static void clear_ring(uint32_t ring)
{
    for (uint32_t i = 0; i < NUM_DESCRIPTOR; i = i + 1u) {
        volatile struct descriptor *d = descriptor(ring, i);
        d->flags = i == NUM_DESCRIPTOR - 1u ? DESC_END : 0u;
        d->tag = 0;
        d->low = 0;
        d->high = 0;
    }
}

/* Gives the device the request that is next. Requires: there is one, and a descriptor is free. The n-th request since the
 * rings were cleared has descriptor n mod 64: `first` is the number of requests before that. */
static void give(struct queue *queue, uint32_t ring, uint32_t index, uint32_t flags)
{
    const struct request *request = &queue->request[queue->given % NUM_SLOT];
    volatile struct descriptor *d = descriptor(ring, index);
    uint64_t physical = dma_physical(ETHERNET_NUMBER, request->buffer);
    uint32_t end = index == NUM_DESCRIPTOR - 1u ? DESC_END : 0u;

    d->tag = 0;
    d->low = (uint32_t)physical;
    d->high = (uint32_t)(physical >> 32);
    dma_barrier();
    d->flags = DESC_OWN | end | flags | request->length;
    queue->given = queue->given + 1u;
}

static uint32_t tx_base; /* transmits.given when the ring was cleared */
static uint32_t rx_base;

void give_transmits(void)
{
    uint32_t begin = transmits.given;

    while (transmits.given != transmits.came && transmits.given - transmits.done < NUM_DESCRIPTOR) {
        uint32_t flags = transmits.request[transmits.given % NUM_SLOT].flags;
        give(&transmits, TX_RING, (transmits.given - tx_base) % NUM_DESCRIPTOR, DESC_FIRST | DESC_LAST | flags);
    }
    if (transmits.given != begin) {
        write8(TPPOLL, TPPOLL_NORMAL);
    }
}

void give_receives(void)
{
    while (receives.given != receives.came && receives.given - receives.done < NUM_DESCRIPTOR) {
        give(&receives, RX_RING, (receives.given - rx_base) % NUM_DESCRIPTOR, 0);
    }
}

static void complete_transmit(uint8_t status)
{
    struct ethernet_transmit_done body = {status};
    uint64_t cookie = transmits.request[transmits.done % NUM_SLOT].cookie;

    transmits.done = transmits.done + 1u;
    EMIT(ETHERNET_TRANSMIT_DONE, cookie, &body);
}

void reap_transmits(void)
{
    uint32_t is_done = 1;

    while (is_done && transmits.done != transmits.given) {
        uint32_t flags = descriptor(TX_RING, (transmits.done - tx_base) % NUM_DESCRIPTOR)->flags;
        is_done = (flags & DESC_OWN) == 0u;
        if (is_done) {
            uint8_t status = (flags & TX_ERRORS) == 0u ? DONE : WIRE_ERROR;
            statistics.sent = statistics.sent + (status == DONE ? 1u : 0u);
            statistics.errors = statistics.errors + (status == DONE ? 0u : 1u);
            complete_transmit(status);
        }
    }
}

/* Which checksums the device has found right. */
static uint16_t checked(uint32_t flags)
{
    uint16_t right = 0;

    if ((flags & RX_PROTOCOL) != 0u && (flags & RX_IP_WRONG) == 0u) {
        right = 1;
        if ((flags & RX_PROTOCOL) == RX_TCP && (flags & RX_TCP_WRONG) == 0u) {
            right = 3;
        } else if ((flags & RX_PROTOCOL) == RX_UDP && (flags & RX_UDP_WRONG) == 0u) {
            right = 5;
        }
    }
    return right;
}

/* Puts the oldest receive request behind all others: its buffer holds nothing of use. */
static void recycle_receive(void)
{
    receives.request[receives.came % NUM_SLOT] = receives.request[receives.done % NUM_SLOT];
    receives.came = receives.came + 1u;
    receives.done = receives.done + 1u;
    statistics.errors = statistics.errors + 1u;
}

static void complete_receive(uint32_t flags)
{
    uint32_t length = (flags & RX_LENGTH) - CRC_BYTES;
    uint64_t cookie = receives.request[receives.done % NUM_SLOT].cookie;
    struct ethernet_received body = {(uint16_t)length, checked(flags)};

    receives.done = receives.done + 1u;
    statistics.received = statistics.received + 1u;
    EMIT(ETHERNET_RECEIVED, cookie, &body);
}

void reap_receives(void)
{
    uint32_t is_done = 1;

    while (is_done && receives.done != receives.given) {
        uint32_t flags = descriptor(RX_RING, (receives.done - rx_base) % NUM_DESCRIPTOR)->flags;
        is_done = (flags & DESC_OWN) == 0u;
        if (is_done) {
            uint32_t length = flags & RX_LENGTH;
            uint32_t is_whole = (flags & (DESC_FIRST | DESC_LAST)) == (DESC_FIRST | DESC_LAST);
            if ((flags & RX_ERROR) == 0u && is_whole && length >= FRAME_LEAST + CRC_BYTES) {
                complete_receive(flags);
            } else {
                recycle_receive();
            }
        }
    }
    give_receives();
}

void drop_transmits(uint8_t status)
{
    while (transmits.done != transmits.came) {
        complete_transmit(status);
    }
    transmits.given = transmits.done;
}

void return_receives(void)
{
    while (receives.done != receives.came) {
        uint64_t cookie = receives.request[receives.done % NUM_SLOT].cookie;
        receives.done = receives.done + 1u;
        EMIT(ETHERNET_RECEIVE_RETURNED, cookie);
    }
    receives.given = receives.done;
}

/* The order is the data sheet's: descriptor mode before the rings, the rings before the engines. */
void start_device(void)
{
    clear_ring(RX_RING);
    clear_ring(TX_RING);
    transmits.given = transmits.done;
    receives.given = receives.done;
    tx_base = transmits.given;
    rx_base = receives.given;
    give_receives();
    dma_barrier();
    write_address();
    write16(CPCR, CPCR_TX | CPCR_RX | CPCR_MULTIPLE | CPCR_CHECKSUM);
    write_ring(RDSAR, RX_RING);
    write_ring(TNPDS, TX_RING);
    write32(THPDS, 0);
    write32(THPDS + 4u, 0);
    write8(CR, CR_RE | CR_TE);
    write32(TCR, TCR_BURST | TCR_GAP);
    write_filter();
    write16(ISR, 0xffff);
    write16(IMR, INT_ROK | INT_RER | INT_TOK | INT_TER | INT_RDU | INT_LINK | INT_FOVW | INT_SERR);
    give_transmits();
    check_link();
}
