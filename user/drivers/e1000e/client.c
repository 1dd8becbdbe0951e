/* What the client asks for. */
#include "e1000e.h"

#define FRAME_MOST 1518u
#define PAGE 4096u
#define CHECKSUMS 7u /* that can be inserted: all of the protocol's */

enum client client;

static void open_client(uint32_t has_device)
{
    if (has_device && dma_size(ETHERNET_NUMBER) >= PAGE) {
        struct ethernet_open_ok body = {{0}, CHECKSUMS};
        for (uint32_t i = 0; i < 6u; i = i + 1u) {
            body.address[i] = address[i];
        }
        filter = RCTL_BROADCAST;
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

void lose_device(void)
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
    uint32_t is_good =
        buffer % PAGE <= PAGE - BUFFER_SIZE && (uint64_t)buffer + BUFFER_SIZE <= dma_size(ETHERNET_NUMBER);
    return is_good ? buffer : 0u;
}

static void transmit(void)
{
    uint32_t length = MAIL(ethernet_transmit)->length;
    struct request request = {COOKIE(), safe_buffer(MAIL(ethernet_transmit)->buffer), length, 0, {0, 0, 0}};
    uint32_t is_good =
        length >= FRAME_LEAST && length <= FRAME_MOST && prepare_checksums(&request, MAIL(ethernet_transmit)->offload);

    if (client == OPEN && is_good && transmits.came - transmits.done < NUM_SLOT) {
        transmits.request[transmits.came % NUM_SLOT] = request;
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
        request->length = 0;
        receives.came = receives.came + 1u;
        give_receives();
    }
}

/* The device's hash of groups is another one than the protocol's: it takes the frames of all groups where some are asked for. */
static void set_filter(void)
{
    struct ethernet_filter_set body = {client == OPEN ? DONE : NO_DEVICE};
    uint8_t mode = MAIL(ethernet_set_filter)->mode;

    filter = RCTL_BROADCAST | (mode != 0u ? RCTL_MULTICAST : 0u) | (mode == 3u ? RCTL_ALL : 0u);
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
        statistics.collisions = statistics.collisions + read32(COLC);
    }
    EMIT(ETHERNET_STATISTICS, 0, &statistics);
}

void serve_client(uint32_t mailbox, uint32_t has_device)
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
