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

static void write_descriptor(uint32_t ring, uint32_t index, uint64_t physical, uint32_t length, uint32_t status)
{
    volatile struct descriptor *d = descriptor(ring, index);

    d->low = (uint32_t)physical;
    d->high = (uint32_t)(physical >> 32);
    d->length = length;
    d->status = status;
}

static uint32_t rx_base; /* receives.given when the ring was cleared: the n-th request since has descriptor n mod 256 */

/* Descriptors ever, of transmission: those that the device was given, and those that it is done with. A request has one, or two
 * where the device must first be told where its checksums go; `context` is what it was told last. */
static uint32_t tx_tail;
static uint32_t tx_head;
static struct context context;

static uint32_t is_context_known(const struct context *needed)
{
    return needed->ip == context.ip && needed->transport == context.transport && needed->commands == context.commands;
}

static void write_context(const struct context *needed)
{
    uint64_t places = (uint64_t)needed->transport << 32 | needed->ip;

    write_descriptor(TX_RING, tx_tail % NUM_DESCRIPTOR, places, TX_EXTENDED | needed->commands, 0);
    context = *needed;
    tx_tail = tx_tail + 1u;
}

/* A context stands before the descriptor of a frame, which alone the device writes to when it is done with both. */
static uint32_t is_context(uint32_t place)
{
    return (descriptor(TX_RING, place % NUM_DESCRIPTOR)->length & TX_DATA) == 0u ? 1u : 0u;
}

/* Writes the descriptors of the request that is next; the device sees them when the ring's tail is moved. Requires: there is
 * one, and two descriptors are free. */
static void give_transmit(void)
{
    const struct request *request = &transmits.request[transmits.given % NUM_SLOT];
    uint32_t commands = TX_EXTENDED | TX_DATA | TX_END | TX_CRC | TX_REPORT;

    if (request->inserts != 0u && !is_context_known(&request->context)) {
        write_context(&request->context);
    }
    write_descriptor(TX_RING, tx_tail % NUM_DESCRIPTOR, dma_physical(ETHERNET_NUMBER, request->buffer),
                     commands | request->length, request->inserts);
    tx_tail = tx_tail + 1u;
    transmits.given = transmits.given + 1u;
}

void give_transmits(void)
{
    uint32_t begin = transmits.given;

    while (transmits.given != transmits.came && tx_tail - tx_head < NUM_DESCRIPTOR - 2u) {
        give_transmit();
    }
    if (transmits.given != begin) {
        dma_barrier();
        write32(TDT, tx_tail % NUM_DESCRIPTOR);
    }
}

/* ... of a buffer for a frame. Requires: one descriptor is free. */
static void give_receive(void)
{
    const struct request *request = &receives.request[receives.given % NUM_SLOT];

    write_descriptor(RX_RING, (receives.given - rx_base) % NUM_DESCRIPTOR,
                     dma_physical(ETHERNET_NUMBER, request->buffer), 0, 0);
    receives.given = receives.given + 1u;
}

void give_receives(void)
{
    uint32_t begin = receives.given;

    while (receives.given != receives.came && receives.given - receives.done < NUM_DESCRIPTOR - 1u) {
        give_receive();
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
        uint32_t place = tx_head + is_context(tx_head);
        uint32_t flags = descriptor(TX_RING, place % NUM_DESCRIPTOR)->status;
        is_done = (flags & TX_DONE) != 0u;
        if (is_done) {
            tx_head = place + 1u;
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
    const struct context no_context = {0, 0, 0};

    clear_ring(RX_RING);
    clear_ring(TX_RING);
    transmits.given = transmits.done;
    receives.given = receives.done;
    rx_base = receives.given;
    tx_tail = 0;
    tx_head = 0;
    context = no_context;
    write_address();
    write_rings();
    write32(RFCTL, RFCTL_NO_ACK);
    write32(MRQC, 0);
    write32(RXCSUM, RXCSUM_IP | RXCSUM_TCP);
    write32(TXDCTL, TXDCTL_WRITE);
    write32(TIPG, TIPG_GAPS);
    write32(TCTL, TCTL_EN | TCTL_PAD | TCTL_TRIES | TCTL_DISTANCE);
    write_filter();
    (void)read32(ICR);
    write32(ITR, ITR_INTERVAL);
    write32(EITR0, ITR_INTERVAL);
    write32(IVAR, IVAR_FIRST);
    write32(IMS, INT_TXDW | INT_LSC | INT_RXO | INT_RXT0 | INT_RX | INT_TX | INT_OTHER);
    give_receives();
    give_transmits();
    check_link();
}
