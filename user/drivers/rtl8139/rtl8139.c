/* Driver of the RTL8139C+ network adapter, in its descriptor mode, which the RTL8169 family has too.
 *
 * Protocols: pci with the bus, ethernet with one client. What the device is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for the client is `client`. The client's requests stand in
 * two queues in the order they came; their first entries are in the device's descriptors. */
#include "ashlar/driver.h"
#include "ethernet_protocol.h"
#include "pci_protocol.h"
#include "registers.h"

/* Where the descriptors stand in the area of the link to the bus. */
#define RX_RING 0u
#define TX_RING 1024u
#define RINGS_SIZE 2048u

#define FRAME_LEAST 14u
#define FRAME_MOST 1518u
#define BUFFER_SIZE 2048u            /* of a buffer, at most: two to a page */
#define PAGE 4096u
#define RESET_POLLS 100000u

enum life { UNBOUND, RUNNING, SUSPENDED, FAILED };
enum client { CLOSED, OPEN, GONE };

/* Status of transmissions, and of other requests. */
enum { DONE, DROPPED, WIRE_ERROR, NO_DEVICE };
/* Reasons to refuse. */
enum { REASON_HARDWARE = 1, REASON_MEMORY = 2, REASON_NO_DEVICE = 3 };

#define NUM_SLOT 256u                /* requests of a kind: as many as the protocol lets be open */

struct request {
    uint64_t cookie;
    uint32_t buffer;
    uint32_t length;
    uint32_t flags;
};

/* Counts of requests ever: those that came, those given to the device, those done. Entries done .. came are open. */
struct queue {
    uint32_t came;
    uint32_t given;
    uint32_t done;
    struct request request[NUM_SLOT];
};

static enum client client;
static uint32_t link_is_up;
static uint32_t filter;              /* bits of RCR */
static uint32_t groups_low;
static uint32_t groups_high;
static uint8_t address[6];
static struct queue transmits;
static struct queue receives;
static struct ethernet_statistics statistics;

/* ---- registers ---- */

static uint8_t read8(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read8(offset);
}

static uint16_t read16(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read16(offset);
}

static uint32_t read32(uint32_t offset)
{
    EMIT(PCI_ACCESS);
    return register_read32(offset);
}

static void write8(uint32_t offset, uint8_t value)
{
    EMIT(PCI_ACCESS);
    register_write8(offset, value);
}

static void write16(uint32_t offset, uint16_t value)
{
    EMIT(PCI_ACCESS);
    register_write16(offset, value);
}

static void write32(uint32_t offset, uint32_t value)
{
    EMIT(PCI_ACCESS);
    register_write32(offset, value);
}

/* ---- the device as a whole ---- */

/* Returns 1 if the device has come out of its reset. */
static uint32_t reset_device(void)
{
    uint32_t polls = 0;
    uint8_t command = CR_RST;

    write8(CR, CR_RST);
    while ((command & CR_RST) != 0u && polls < RESET_POLLS) {
        command = read8(CR);
        polls = polls + 1u;
    }
    return (command & CR_RST) == 0u;
}

static void read_address(void)
{
    for (uint32_t i = 0; i < 6u; i = i + 1u) {
        address[i] = read8(IDR0 + i);
    }
}

static void write_address(void)
{
    uint32_t low = (uint32_t)address[0] | (uint32_t)address[1] << 8 | (uint32_t)address[2] << 16 |
                   (uint32_t)address[3] << 24;
    uint32_t high = (uint32_t)address[4] | (uint32_t)address[5] << 8;

    write8(CR9346, CR9346_WRITE);
    write32(IDR0, low);
    write32(IDR0 + 4u, high);
    write8(CR9346, CR9346_LOCK);
}

static void write_filter(void)
{
    write32(MAR0, groups_low);
    write32(MAR0 + 4u, groups_high);
    write32(RCR, RCR_BURST | RCR_FIFO | filter);
}

/* No frames, no interrupts, no work on descriptors. */
static void stop_device(void)
{
    write16(IMR, 0);
    write8(CR, 0);
    write16(ISR, 0xffff);
}

static void write_ring(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + 4u, (uint32_t)(physical >> 32));
}

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

/* ---- queues and descriptors ---- */

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

static uint32_t tx_base;             /* transmits.given when the ring was cleared */
static uint32_t rx_base;

static void give_transmits(void)
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

static void give_receives(void)
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

/* Tells the client of every transmission the device is done with. */
static void reap_transmits(void)
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

/* Tells the client of every frame that has come, and lets the device have more buffers. */
static void reap_receives(void)
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

/* Every open transmission is over. */
static void drop_transmits(uint8_t status)
{
    while (transmits.done != transmits.came) {
        complete_transmit(status);
    }
    transmits.given = transmits.done;
}

/* Every receive buffer goes back. Only for a client that closes, or has lost its device. */
static void return_receives(void)
{
    while (receives.done != receives.came) {
        uint64_t cookie = receives.request[receives.done % NUM_SLOT].cookie;
        receives.done = receives.done + 1u;
        EMIT(ETHERNET_RECEIVE_RETURNED, cookie);
    }
    receives.given = receives.done;
}

static void check_link(void)
{
    uint8_t state = read8(MSR);
    uint32_t is_up = (state & MSR_LINK_FAILED) == 0u;

    if (is_up && !link_is_up) {
        struct ethernet_link_up body = {(state & MSR_TEN) != 0u ? 10u : 100u, 1};
        link_is_up = 1;
        EMIT(ETHERNET_LINK_UP, 0, &body);
    } else if (!is_up && link_is_up) {
        link_is_up = 0;
        EMIT(ETHERNET_LINK_DOWN);
    }
}

/* Lets frames flow. The order is the data sheet's: descriptor mode before the rings, the rings before the engines. */
static void start_device(void)
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

/* ---- the client ---- */

static void open_client(uint32_t has_device)
{
    if (has_device && dma_size(ETHERNET_NUMBER) >= PAGE) {
        struct ethernet_open_ok body = {{0}, 7};
        for (uint32_t i = 0; i < 6u; i = i + 1u) {
            body.address[i] = address[i];
        }
        filter = RCR_OWN | RCR_BROADCAST;
        groups_low = 0;
        groups_high = 0;
        link_is_up = 0;
        client = OPEN;
        EMIT(ETHERNET_OPEN_OK, 0, &body);
        start_device();
    } else {
        struct ethernet_open_fail body = {has_device ? REASON_MEMORY : REASON_NO_DEVICE};
        EMIT(ETHERNET_OPEN_FAIL, 0, &body);
    }
}

static void close_client(void)
{
    if (client == OPEN) {
        stop_device();
        reset_device();
    }
    drop_transmits(client == OPEN ? DROPPED : NO_DEVICE);
    return_receives();
    client = CLOSED;
    EMIT(ETHERNET_CLOSE_OK);
}

/* The device is lost to the client, for good. Touches no register. */
static void lose_device(void)
{
    if (client == OPEN) {
        client = GONE;
        EMIT(ETHERNET_GONE);
        drop_transmits(NO_DEVICE);
        return_receives();
    }
}

/* What the client says of a buffer, made harmless: a buffer outside of the client's memory, or across a page, is the first
 * of its memory. */
static uint32_t safe_buffer(uint32_t buffer)
{
    uint32_t is_good = buffer % PAGE <= PAGE - BUFFER_SIZE && (uint64_t)buffer + BUFFER_SIZE <= dma_size(ETHERNET_NUMBER);
    return is_good ? buffer : 0u;
}

static void transmit(void)
{
    struct request *request = &transmits.request[transmits.came % NUM_SLOT];
    uint32_t offload = MAIL(ethernet_transmit)->offload;
    uint32_t length = MAIL(ethernet_transmit)->length;
    uint32_t is_good = length >= FRAME_LEAST && length <= FRAME_MOST;

    if (client == OPEN && is_good && transmits.came - transmits.done < NUM_SLOT) {
        request->cookie = COOKIE();
        request->buffer = safe_buffer(MAIL(ethernet_transmit)->buffer);
        request->length = length;
        request->flags = ((offload & 1u) != 0u ? TX_IP : 0u) | ((offload & 2u) != 0u ? TX_TCP : 0u) |
                         ((offload & 4u) != 0u ? TX_UDP : 0u);
        transmits.came = transmits.came + 1u;
        give_transmits();
    } else {
        struct ethernet_transmit_done body = {client == OPEN ? DROPPED : NO_DEVICE};
        EMIT(ETHERNET_TRANSMIT_DONE, COOKIE(), &body);
    }
}

static void receive_buffer(void)
{
    struct request *request = &receives.request[receives.came % NUM_SLOT];

    if (client == GONE) {
        EMIT(ETHERNET_RECEIVE_RETURNED, COOKIE());
    } else if (receives.came - receives.done < NUM_SLOT) {
        request->cookie = COOKIE();
        request->buffer = safe_buffer(MAIL(ethernet_receive_buffer)->buffer);
        request->length = BUFFER_SIZE;
        request->flags = 0;
        receives.came = receives.came + 1u;
        give_receives();
    }
}

static void set_filter(void)
{
    struct ethernet_filter_set body = {client == OPEN ? DONE : NO_DEVICE};
    uint8_t mode = MAIL(ethernet_set_filter)->mode;
    uint64_t groups = MAIL(ethernet_set_filter)->groups;

    filter = RCR_OWN | RCR_BROADCAST | (mode != 0u ? RCR_MULTICAST : 0u) | (mode == 3u ? RCR_ALL : 0u);
    groups_low = mode == 1u ? (uint32_t)groups : 0xffffffffu;
    groups_high = mode == 1u ? (uint32_t)(groups >> 32) : 0xffffffffu;
    if (client == OPEN) {
        write_filter();
    }
    EMIT(ETHERNET_FILTER_SET, 0, &body);
}

static void set_address(void)
{
    struct ethernet_address_set body = {client == OPEN ? DONE : NO_DEVICE};

    if (client == OPEN) {
        for (uint32_t i = 0; i < 6u; i = i + 1u) {
            address[i] = MAIL(ethernet_set_address)->address[i];
        }
        write_address();
    }
    EMIT(ETHERNET_ADDRESS_SET, 0, &body);
}

static void get_statistics(void)
{
    if (client == OPEN) {
        statistics.missed = statistics.missed + read32(MPC);
        write32(MPC, 0);
    }
    EMIT(ETHERNET_STATISTICS, 0, &statistics);
}

/* One message of the client. `has_device`: the bus has given the device to the driver, and it works. */
static void serve_client(uint32_t mailbox, uint32_t has_device)
{
    switch (mailbox) {
    case ETHERNET_OPEN:
        open_client(has_device);
        break;
    case ETHERNET_CLOSE:
        close_client();
        break;
    case ETHERNET_TRANSMIT:
        transmit();
        break;
    case ETHERNET_RECEIVE_BUFFER:
        receive_buffer();
        break;
    case ETHERNET_SET_FILTER:
        set_filter();
        break;
    case ETHERNET_SET_ADDRESS:
        set_address();
        break;
    case ETHERNET_GET_STATISTICS:
        get_statistics();
        break;
    default:
        break;
    }
}

/* ---- the bus ---- */

/* The device answers to accesses from now on. Returns 0 if it was lost meanwhile. */
static uint32_t enable_device(void)
{
    EMIT(PCI_ENABLE);
    return AWAIT(PCI_ENABLED, PCI_UNPLUG) == PCI_ENABLED;
}

static void disable_device(void)
{
    EMIT(PCI_IRQ_OFF);
    EMIT(PCI_DISABLE);
}

/* The bus has said that the device is gone. */
static enum life unplug(void)
{
    lose_device();
    EMIT(PCI_UNPLUG_OK);
    return UNBOUND;
}

static enum life probe(void)
{
    if (!enable_device()) {
        return unplug();
    }
    uint32_t has_memory = dma_size(PCI_NUMBER) >= RINGS_SIZE;
    if (!has_memory || !reset_device()) {
        struct pci_probe_fail body = {has_memory ? REASON_HARDWARE : REASON_MEMORY};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    stop_device();
    read_address();
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_PROBE_OK);
    return RUNNING;
}

static enum life remove_device(void)
{
    stop_device();
    lose_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

/* Frames under way are dropped; buffers for frames stay with the driver. */
static enum life suspend(void)
{
    stop_device();
    if (client == OPEN) {
        drop_transmits(DROPPED);
        if (link_is_up) {
            link_is_up = 0;
            EMIT(ETHERNET_LINK_DOWN);
        }
    }
    disable_device();
    EMIT(PCI_SUSPEND_OK);
    return SUSPENDED;
}

static enum life resume(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!reset_device()) {
        struct pci_resume_fail body = {REASON_HARDWARE};
        lose_device();
        EMIT(PCI_DISABLE);
        EMIT(PCI_RESUME_FAIL, 0, &body);
        return FAILED;
    }
    stop_device();
    EMIT(PCI_IRQ_ON);
    if (client == OPEN) {
        start_device();
    }
    EMIT(PCI_RESUME_OK);
    return RUNNING;
}

static enum life recover(void)
{
    if (!reset_device()) {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    stop_device();
    if (client == OPEN) {
        drop_transmits(DROPPED);
        start_device();
    }
    EMIT(PCI_RECOVERED);
    return RUNNING;
}

static void interrupt(void)
{
    uint16_t status = read16(ISR);

    if (client == OPEN && status != INT_GONE) {
        write16(ISR, status);
        reap_transmits();
        reap_receives();
        give_transmits();
        if ((status & INT_LINK) != 0u) {
            check_link();
        }
    } else {
        write16(ISR, 0xffff);
    }
    EMIT(PCI_IRQ_DONE);
}

static enum life unbound(void)
{
    uint32_t mailbox = AWAIT(PCI_PROBE, PCI_UNPLUG, ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT,
                             ETHERNET_RECEIVE_BUFFER, ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS,
                             ETHERNET_GET_STATISTICS);

    if (mailbox == PCI_PROBE) {
        return probe();
    }
    if (mailbox != PCI_UNPLUG) {
        serve_client(mailbox, 0);
    }
    return UNBOUND;
}

static enum life running(void)
{
    uint32_t mailbox = AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, ETHERNET_OPEN,
                             ETHERNET_CLOSE, ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER, ETHERNET_SET_FILTER,
                             ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS);

    switch (mailbox) {
    case PCI_IRQ:
        interrupt();
        return RUNNING;
    case PCI_UNPLUG:
        return unplug();
    case PCI_REMOVE:
        return remove_device();
    case PCI_SUSPEND:
        return suspend();
    case PCI_BUS_ERROR:
        return recover();
    default:
        serve_client(mailbox, 1);
        return RUNNING;
    }
}

static enum life suspended(void)
{
    if (AWAIT(PCI_RESUME, PCI_UNPLUG) == PCI_RESUME) {
        return resume();
    }
    return unplug();
}

static enum life failed(void)
{
    uint32_t mailbox = AWAIT(PCI_REMOVE, PCI_UNPLUG, ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT,
                             ETHERNET_RECEIVE_BUFFER, ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS,
                             ETHERNET_GET_STATISTICS);

    if (mailbox == PCI_UNPLUG) {
        return unplug();
    }
    if (mailbox == PCI_REMOVE) {
        EMIT(PCI_REMOVE_OK);
        return UNBOUND;
    }
    serve_client(mailbox, 0);
    return FAILED;
}

void driver(void)
{
    enum life life = UNBOUND;

    for (;;) {
        switch (life) {
        case UNBOUND:
            life = unbound();
            break;
        case RUNNING:
            life = running();
            break;
        case SUSPENDED:
            life = suspended();
            break;
        case FAILED:
            life = failed();
            break;
        }
    }
}

#ifndef DRIVERCHECK
const struct protocol *const driver_protocols[] = {&pci_protocol, &ethernet_protocol, 0};
#endif
