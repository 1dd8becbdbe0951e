/* The client's requests, in the order they came, and the device's descriptors, in which the first of them stand. */
#include "e1000e.h"

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
        d->low = 0;
        d->high = 0;
        d->length = 0;
        d->status = 0;
    }
}

/* Writes the descriptor of the request that is next; the device sees it when the ring's tail is moved. Requires: there is
 * one, and a descriptor is free. The n-th request since the rings were cleared has descriptor n mod 256: `base` below is the
 * number of requests before that. */
static void give(struct queue *queue, uint32_t ring, uint32_t index, uint32_t command)
{
    const struct request *request = &queue->request[queue->given % NUM_SLOT];
    volatile struct descriptor *d = descriptor(ring, index);
    uint64_t physical = dma_physical(ETHERNET_NUMBER, request->buffer);

    d->low = (uint32_t)physical;
    d->high = (uint32_t)(physical >> 32);
    d->length = command | request->length;
    d->status = 0;
    queue->given = queue->given + 1u;
}

static uint32_t tx_base; /* transmits.given when the ring was cleared */
static uint32_t rx_base;

void give_transmits(void)
{
    uint32_t begin = transmits.given;

    while (transmits.given != transmits.came && transmits.given - transmits.done < NUM_DESCRIPTOR - 1u) {
        give(&transmits, TX_RING, (transmits.given - tx_base) % NUM_DESCRIPTOR, TX_END | TX_CRC | TX_REPORT);
    }
    if (transmits.given != begin) {
        dma_barrier();
        write32(TDT, (transmits.given - tx_base) % NUM_DESCRIPTOR);
    }
}

void give_receives(void)
{
    uint32_t begin = receives.given;

    while (receives.given != receives.came && receives.given - receives.done < NUM_DESCRIPTOR - 1u) {
        give(&receives, RX_RING, (receives.given - rx_base) % NUM_DESCRIPTOR, 0);
    }
    if (receives.given != begin) {
        dma_barrier();
        write32(RDT, (receives.given - rx_base) % NUM_DESCRIPTOR);
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
        uint32_t flags = descriptor(TX_RING, (transmits.done - tx_base) % NUM_DESCRIPTOR)->status;
        is_done = (flags & TX_DONE) != 0u;
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

    if ((flags & (RX_UNCHECKED | RX_IP | RX_IP_WRONG)) == RX_IP) {
        right = 1;
        if ((flags & (RX_UDP | RX_TCP_WRONG)) == RX_UDP) {
            right = 5;
        } else if ((flags & (RX_UDP | RX_TCP | RX_TCP_WRONG)) == RX_TCP) {
            right = 3;
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

static void complete_receive(uint32_t length, uint32_t flags)
{
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
        const volatile struct descriptor *d = descriptor(RX_RING, (receives.done - rx_base) % NUM_DESCRIPTOR);
        uint32_t flags = d->status;
        is_done = (flags & RX_DONE) != 0u;
        if (is_done) {
            uint32_t length = d->length & RX_LENGTH;
            uint32_t is_whole = (flags & (RX_LAST | RX_ERRORS)) == RX_LAST;
            if (is_whole && length >= FRAME_LEAST && length <= BUFFER_SIZE) {
                complete_receive(length, flags);
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

/* The order is the data sheet's: the rings before the engines, tails behind them. */
void start_device(void)
{
    clear_ring(RX_RING);
    clear_ring(TX_RING);
    transmits.given = transmits.done;
    receives.given = receives.done;
    tx_base = transmits.given;
    rx_base = receives.given;
    write_address();
    write_rings();
    write32(RFCTL, 0);
    write32(MRQC, 0);
    write32(RXCSUM, RXCSUM_IP | RXCSUM_TCP);
    write32(TXDCTL, TXDCTL_WRITE);
    write32(TIPG, TIPG_GAPS);
    write32(TCTL, TCTL_EN | TCTL_PAD | TCTL_TRIES | TCTL_DISTANCE);
    write_filter();
    (void)read32(ICR);
    write32(ITR, ITR_INTERVAL);
    write32(IMS, INT_TXDW | INT_LSC | INT_RXO | INT_RXT0);
    give_receives();
    give_transmits();
    check_link();
}
