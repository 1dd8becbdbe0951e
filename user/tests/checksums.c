/* Sends frames in which checksums are wrong, to a gateway that drops such frames: those for which the driver was asked to insert the
 * checksums are answered, those for which it was not are not. Neighbours in the sequence want different ones, and stand at different
 * places. What stands behind a short packet is no part of it, and not zero.
 *
 * Arguments: `driver`; `address` of this host, `gateway`, which answers pings and file requests (TFTP), and `echo`, which takes
 * TCP connections at port 7, as numbers. */
#include "../net/net_internal.h"
#include "ashlar/env.h"
#include "ashlar/net.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define SECOND 1000000000ul
#define ALL 7u /* bits of `offload`: 1 IPv4, 2 TCP, 4 UDP */
#define PORT_OF_ECHO 7u
#define PORT_OF_FILES 69u
#define OWN_PORT 50000u
#define PING_BYTES 16u
#define TCP_BYTES 20u
#define UDP_BYTES 20u

struct frame {
    const char *name;
    uint8_t protocol;
    uint8_t wrong;   /* checksums that are wrong: bits as in `offload` */
    uint8_t offload; /* those that are asked for */
    uint8_t options; /* bytes of IP's header behind the first 20 */
    uint8_t is_answered;
};

static const struct frame frames[] = {
    {"ping", NET_ICMP, 0, 0, 0, 1},
    {"ping without IP's", NET_ICMP, 1, 0, 0, 0},
    {"ping with IP's", NET_ICMP, 1, 1, 0, 1},
    {"TCP with IP's and its own", NET_TCP, 3, 3, 0, 1},
    {"UDP with its own", NET_UDP, 4, 4, 0, 1},
    {"UDP without its own", NET_UDP, 4, 0, 0, 0},
    {"TCP with its own", NET_TCP, 2, 2, 0, 1},
    {"TCP without its own", NET_TCP, 2, 0, 0, 0},
    {"TCP behind options", NET_TCP, 3, 3, 8, 1},
    {"ping behind options", NET_ICMP, 1, 1, 4, 1},
    {"UDP behind options", NET_UDP, 5, 5, 12, 1},
    {"UDP with its own, without IP's", NET_UDP, 5, 4, 0, 0},
    {"UDP with IP's and its own", NET_UDP, 5, 5, 0, 1},
    {"TCP with IP's and all others", NET_TCP, 3, 7, 0, 1},
    {"ping that asks for TCP's", NET_ICMP, 0, 2, 0, 0},
    {"UDP that asks for TCP's", NET_UDP, 4, 2, 0, 0},
    {"UDP that asks for nothing", NET_UDP, 0, 0, 0, 1},
};

static uint32_t own;
static uint32_t gateway;
static uint32_t echo;

/* The payload of a packet whose source is told from others by `number`. Returns its bytes. */
static uint32_t put_payload(uint8_t *at, uint8_t protocol, uint32_t number)
{
    static const uint8_t question[] = "\0\1none\0octet"; /* read a file */

    memset(at, 0, TCP_BYTES);
    if (protocol == NET_ICMP) {
        at[0] = 8;
        net_put16(at + 6, number);
        return PING_BYTES;
    }
    net_put16(at, OWN_PORT + number);
    net_put16(at + 2, protocol == NET_TCP ? PORT_OF_ECHO : PORT_OF_FILES);
    if (protocol == NET_TCP) {
        at[12] = TCP_BYTES / 4 << 4;
        at[13] = 2; /* SYN */
        net_put16(at + 14, 1000);
        return TCP_BYTES;
    }
    net_put16(at + 4, 8 + sizeof question);
    memcpy(at + 8, question, sizeof question);
    return 8 + sizeof question;
}

/* A wrong sum is neither the right one nor zero, which says of UDP that there is none. */
static void put_sum(uint8_t *at, uint32_t sum, int is_wrong)
{
    uint16_t right = net_fold(sum);
    net_put16(at, is_wrong ? (right ^ 0x5a5au) | 1u : right);
}

static void send_frame(const struct frame *frame, uint32_t number)
{
    uint32_t to = frame->protocol == NET_TCP ? echo : gateway;
    uint32_t header = NET_IP_HEADER + frame->options;
    uint8_t *place = net_frame();

    if (place == 0 || net_neighbour(to) == 0) {
        panic("CHECKSUMS no frame can be sent\n");
    }
    uint8_t *ip = place + ETHER_HEADER;
    uint8_t *payload = ip + header;
    memset(place, 0xa5, 128);
    net_put_header(place, net_neighbour(to), ETHER_IP);
    memset(ip, 1, header); /* options that say nothing */
    memset(ip, 0, NET_IP_HEADER);
    uint32_t bytes = put_payload(payload, frame->protocol, number);
    ip[0] = (uint8_t)(0x40u | header / 4);
    net_put16(ip + 2, header + bytes);
    net_put16(ip + 4, number);
    ip[8] = 64;
    ip[9] = frame->protocol;
    net_put32(ip + 12, own);
    net_put32(ip + 16, to);
    put_sum(ip + 10, net_sum(ip, header, 0), (frame->wrong & 1) != 0);
    if (frame->protocol == NET_ICMP) {
        put_sum(payload + 2, net_sum(payload, bytes, 0), 0);
    } else {
        uint32_t sum = net_sum(payload, bytes, net_sum(ip + 12, 8, frame->protocol + bytes));
        put_sum(payload + (frame->protocol == NET_TCP ? 16 : 6), sum, (frame->wrong & 6) != 0);
    }
    net_send_frame(ETHER_HEADER + header + bytes, frame->offload);
}

/* The number of the frame that net_packet answers; 0 of none. */
static uint32_t answered(void)
{
    const uint8_t *at = net_packet.payload;

    if (net_packet.protocol == NET_ICMP && net_packet.bytes >= PING_BYTES && at[0] == 0) {
        return net_get16(at + 6);
    }
    if (net_packet.protocol == NET_ICMP || net_packet.bytes < 8) {
        return 0;
    }
    return net_get16(at + 2) - OWN_PORT;
}

/* Whether it is answered before `number` is: the gateway takes frames in their order. */
static int is_answered_before(uint32_t wanted, uint32_t number)
{
    uint64_t deadline = sys_clock() + 5 * SECOND;

    for (;;) {
        enum net_event event = net_wait(deadline);
        if (event == NET_TIMEOUT || !net_is_up()) {
            return 0;
        }
        if (event == NET_PACKET && answered() == wanted) {
            return 1;
        }
        if (event == NET_PACKET && answered() == number) {
            return 0;
        }
    }
}

static void await_hosts(void)
{
    while (!net_is_up() || !net_knows(gateway) || !net_knows(echo)) {
        if (net_wait(sys_clock() + SECOND / 20) == NET_TIMEOUT && net_is_up() && net_buffer() != 0) {
            net_send(net_knows(gateway) ? echo : gateway, NET_ICMP, 0, 0); /* only asks for the hardware address */
        }
    }
}

int main(void)
{
    char driver[32];
    const uint32_t count = sizeof frames / sizeof frames[0];
    uint32_t num_answered = 0;
    uint32_t num_refused = 0;

    if (env_arg("driver", driver, sizeof driver) < 0) {
        panic("argument driver is missing\n");
    }
    own = (uint32_t)env_arg_u64("address", NET_ADDRESS(10, 0, 2, 15));
    gateway = (uint32_t)env_arg_u64("gateway", NET_ADDRESS(10, 0, 2, 2));
    echo = (uint32_t)env_arg_u64("echo", NET_ADDRESS(10, 0, 2, 100));
    net_start(driver, own);
    await_hosts();
    if (net_inserts != ALL) {
        panic("CHECKSUMS the driver inserts %u only\n", net_inserts);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = &frames[i];
        uint32_t number = 2 * i + 1;
        send_frame(frame, number);
        if (!frame->is_answered) {
            send_frame(&frames[0], number + 1);
        }
        int is = is_answered_before(number, frame->is_answered ? 0 : number + 1);
        num_answered += is && frame->is_answered;
        num_refused += !is && !frame->is_answered;
        print("CHECKSUMS %s: %s, %s\n", frame->name, is ? "answered" : "not answered",
              is == frame->is_answered ? "right" : "wrong");
    }
    print("CHECKSUMS of %u frames %u were answered and %u were not, as they should\n", count, num_answered,
          num_refused);
    for (;;) {
        net_wait(DEADLINE_NEVER);
    }
}
