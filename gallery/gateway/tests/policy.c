/* The policy: each kind of frame that may pass, and with one byte changed. */
#include "../src/gateway/policy.h"

#include <assert.h>
#include <string.h>

static uint8_t frame[64];

static void put16(uint32_t at, uint32_t value)
{
    frame[at] = (uint8_t)(value >> 8);
    frame[at + 1] = (uint8_t)value;
}

/* An IPv4 frame of a protocol, with 30 bytes behind its header. */
static void ipv4(uint32_t protocol)
{
    memset(frame, 0, sizeof frame);
    put16(12, ETHER_IPV4);
    frame[14] = 0x45;
    put16(16, 50);
    frame[23] = (uint8_t)protocol;
}

static void tcp(uint32_t from_port, uint32_t to_port, uint32_t flags)
{
    ipv4(TCP);
    put16(34, from_port);
    put16(36, to_port);
    frame[47] = (uint8_t)flags;
}

static enum verdict from(enum side side)
{
    return policy(side, frame, sizeof frame);
}

static void web(void)
{
    tcp(40000, WEB, TCP_SYN);
    assert(from(OFFICE) == PASS && from(PLANT) == NOT_ALLOWED);
    tcp(WEB, 40000, TCP_SYN | TCP_ACK);
    assert(from(PLANT) == PASS && from(OFFICE) == NOT_ALLOWED);
    tcp(WEB, 40000, TCP_ACK);
    assert(from(PLANT) == PASS);
    tcp(WEB, 40000, TCP_SYN); /* the plant begins a connection from the server's port */
    assert(from(PLANT) == NOT_ALLOWED);
    tcp(40000, 22, TCP_SYN);
    assert(from(OFFICE) == NOT_ALLOWED);
}

static void others(void)
{
    memset(frame, 0, sizeof frame);
    put16(12, ETHER_ARP);
    assert(from(OFFICE) == PASS && from(PLANT) == PASS);
    put16(12, 0x86dd); /* IPv6 */
    assert(from(OFFICE) == NOT_IPV4 && from(PLANT) == NOT_IPV4);
    ipv4(17); /* UDP */
    assert(from(OFFICE) == NOT_ALLOWED);
    ipv4(ICMP);
    frame[34] = ECHO_REQUEST;
    assert(from(OFFICE) == PASS && from(PLANT) == NOT_ALLOWED);
    frame[34] = ECHO_ANSWER;
    assert(from(OFFICE) == NOT_ALLOWED && from(PLANT) == PASS);
    frame[34] = 5; /* a redirect */
    assert(from(OFFICE) == NOT_ALLOWED && from(PLANT) == NOT_ALLOWED);
}

static void malformed(void)
{
    tcp(40000, WEB, TCP_SYN);
    put16(20, 0x2000); /* more fragments */
    assert(from(OFFICE) == FRAGMENT);
    put16(20, 1);
    assert(from(OFFICE) == FRAGMENT);
    put16(20, 0x4000); /* it must not be cut */
    assert(from(OFFICE) == PASS);
    frame[14] = 0x44; /* a header of 16 bytes */
    assert(from(OFFICE) == MALFORMED);
    frame[14] = 0x65;
    assert(from(OFFICE) == MALFORMED);
    frame[14] = 0x4d; /* longer than the packet */
    assert(from(OFFICE) == MALFORMED);
    frame[14] = 0x45;
    put16(16, 51); /* more than came */
    assert(from(OFFICE) == MALFORMED);
    put16(16, 39); /* too short for TCP */
    assert(from(OFFICE) == MALFORMED);
    ipv4(ICMP);
    frame[34] = ECHO_REQUEST;
    put16(16, 27); /* too short for ICMP */
    assert(from(OFFICE) == MALFORMED);
    tcp(40000, WEB, TCP_SYN);
    for (uint32_t bytes = ETHER_HEADER; bytes < ETHER_HEADER + IPV4_HEADER; bytes++) {
        assert(policy(OFFICE, frame, bytes) == MALFORMED);
    }
}

int main(void)
{
    web();
    others();
    malformed();
    return 0;
}
