/* Where the device inserts checksums. It sums bytes from one place to another, in which what it does not know must stand
 * already: the sum of addresses, protocol and length of TCP and UDP, and zero in IP's header. */
#include "e1000e.h"

#define ETHER_HEADER 14u
#define ETHER_IP 0x0800u
#define IP_HEADER 20u /* at least */
#define IP_FRAGMENT 0x3fffu
#define IP_CHECKSUM 10u
#define IP_ADDRESSES 12u
#define PROTOCOL_TCP 6u
#define PROTOCOL_UDP 17u
#define TCP_HEADER 20u /* at least */
#define TCP_CHECKSUM 16u
#define UDP_HEADER 8u
#define UDP_CHECKSUM 6u

static uint32_t get16(const volatile uint8_t *bytes, uint32_t at)
{
    uint32_t high = bytes[at];
    uint32_t low = bytes[at + 1u];

    return high << 8 | low;
}

static void put16(volatile uint8_t *bytes, uint32_t at, uint32_t value)
{
    bytes[at] = (uint8_t)(value >> 8);
    bytes[at + 1u] = (uint8_t)value;
}

/* The sum over what precedes TCP's or UDP's header for their checksum only. */
static uint32_t sum_of_addresses(const volatile uint8_t *frame, uint32_t sum)
{
    for (uint32_t i = 0; i < 8u; i = i + 2u) {
        sum = sum + get16(frame, ETHER_HEADER + IP_ADDRESSES + i);
    }
    sum = (sum & 0xffffu) + (sum >> 16);
    return (sum & 0xffffu) + (sum >> 16);
}

/* `bytes` of TCP or UDP stand behind the headers. Returns 0 if neither does, or not the one that is asked for. */
static uint32_t prepare_transport(struct request *request, volatile uint8_t *frame, uint32_t header, uint32_t bytes,
                                  uint32_t offload)
{
    uint32_t protocol = frame[ETHER_HEADER + 9u];
    uint32_t is_tcp = protocol == PROTOCOL_TCP && (offload & 2u) != 0u && bytes >= TCP_HEADER;
    uint32_t is_udp = protocol == PROTOCOL_UDP && (offload & 4u) != 0u && bytes >= UDP_HEADER;
    uint32_t start = ETHER_HEADER + header;
    uint32_t place = start + (is_tcp ? TCP_CHECKSUM : UDP_CHECKSUM);

    if (!is_tcp && !is_udp) {
        return 0;
    }
    put16(frame, place, sum_of_addresses(frame, protocol + bytes));
    request->inserts = request->inserts | TX_INSERT_TCP;
    request->context.transport = start | place << 8; /* to the end of the frame */
    request->context.commands = TX_CONTEXT_IP | (is_tcp ? TX_CONTEXT_TCP : 0u);
    return 1;
}

/* The client's memory is read once: it may change. What stands behind the packet, to fill a short frame up, is cut off, lest it be
 * summed; the device fills the frame up again. */
static uint32_t prepare_packet(struct request *request, uint32_t offload)
{
    volatile uint8_t *frame = (volatile uint8_t *)dma_memory(ETHERNET_NUMBER, request->buffer);
    uint32_t version =
        request->length >= ETHER_HEADER + IP_HEADER && get16(frame, 12u) == ETHER_IP ? frame[ETHER_HEADER] : 0u;
    uint32_t header = (version & 0xfu) * 4u;

    if (version >> 4 != 4u || header < IP_HEADER) {
        return 0;
    }
    uint32_t length = get16(frame, ETHER_HEADER + 2u);
    if (length < header || length > request->length - ETHER_HEADER) {
        return 0;
    }
    request->length = ETHER_HEADER + length;
    request->context.ip = ETHER_HEADER | (ETHER_HEADER + IP_CHECKSUM) << 8 | (ETHER_HEADER + header - 1u) << 16;
    request->context.commands = TX_CONTEXT_IP;
    if ((offload & 1u) != 0u) {
        put16(frame, ETHER_HEADER + IP_CHECKSUM, 0);
        request->inserts = TX_INSERT_IP;
    }
    if ((offload & 6u) == 0u) {
        return 1;
    }
    return (get16(frame, ETHER_HEADER + 6u) & IP_FRAGMENT) == 0u &&
           prepare_transport(request, frame, header, length - header, offload);
}

uint32_t prepare_checksums(struct request *request, uint32_t offload)
{
    return offload == 0u || prepare_packet(request, offload);
}
