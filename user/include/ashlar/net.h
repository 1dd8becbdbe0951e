/* A client of an ethernet driver: frames, address resolution, IPv4 packets. One network without routers, fixed addresses.
 * Enough for programs that talk to one peer at a time; there is no reassembly, no options, no forwarding. Pings are answered. */
#ifndef ASHLAR_NET_H
#define ASHLAR_NET_H

#include <stdint.h>

#define NET_MTU 1500u
#define NET_IP_HEADER 20u
#define NET_ICMP 1u
#define NET_TCP 6u
#define NET_UDP 17u
#define NET_ADDRESS(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* Checksums that are inserted, by the device if it can: bits of `offload`. */
#define NET_INSERT_TCP 2u
#define NET_INSERT_UDP 4u

enum net_event {
    NET_TIMEOUT, /* the deadline has passed */
    NET_CHANGED, /* net_is_up() may say something else now */
    NET_PACKET,  /* net_packet holds a packet for this process */
    NET_OTHER,   /* something that needs no attention */
};

struct net_packet {
    uint32_t from;
    uint8_t protocol;
    uint8_t is_checked; /* the device has found the payload's checksum right */
    uint32_t bytes;
    const uint8_t *payload; /* until the next net_wait() */
};

struct net_count {
    uint64_t sent;
    uint64_t received;
    uint64_t lost_driver; /* how often the driver was started anew */
};

extern struct net_packet net_packet;
extern struct net_count net_count;
extern uint8_t net_hardware_address[6];

/* Links this process to the driver and opens the interface whenever there is one. */
void net_start(const char *driver, uint32_t address);

/* Waits for the next event. */
enum net_event net_wait(uint64_t deadline);

/* The interface is open and the link is up. */
int net_is_up(void);

/* Where the payload of the next packet goes: NET_MTU - NET_IP_HEADER bytes; null if all buffers are under way. */
uint8_t *net_buffer(void);

/* Sends `bytes` of it. Returns 0, and sends nothing but a question, if the peer's hardware address is not known yet. */
int net_send(uint32_t to, uint8_t protocol, uint32_t bytes, uint16_t offload);

/* Whether it is known. */
int net_knows(uint32_t address);

/* Bytes that are not sent are not lost: the buffer stays the next one. */

/* The sum of the Internet protocols over bytes in network order; `sum` is that of what stands before. */
uint32_t net_sum(const uint8_t *bytes, uint32_t count, uint32_t sum);
static inline uint16_t net_fold(uint32_t sum)
{
    sum = (sum & 0xffffu) + (sum >> 16);
    sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)~sum;
}

/* Numbers in network order. */
static inline uint32_t net_get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}
static inline uint32_t net_get32(const uint8_t *at)
{
    return net_get16(at) << 16 | net_get16(at + 2);
}
static inline void net_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}
static inline void net_put32(uint8_t *at, uint32_t value)
{
    net_put16(at, value >> 16);
    net_put16(at + 2, value);
}

#endif
