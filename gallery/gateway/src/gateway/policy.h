/* What may pass between office and plant: the office may find the plant's address, ping it, and ask its web server on port 80.
 * The plant may answer, and begins nothing. All else is dropped, with its reason. Nothing here needs the system, so that the unit
 * test runs it on your PC. */
#ifndef POLICY_H
#define POLICY_H

#include <stdint.h>

enum side { OFFICE, PLANT };

/* Why a frame may not pass. */
enum verdict { PASS, MALFORMED, NOT_IPV4, FRAGMENT, NOT_ALLOWED, NUM_VERDICTS };

#define ETHER_HEADER 14u
#define ETHER_IPV4 0x0800u
#define ETHER_ARP 0x0806u
#define IPV4_HEADER 20u
#define ICMP 1u
#define TCP 6u
#define ECHO_ANSWER 0u
#define ECHO_REQUEST 8u
#define WEB 80u
#define TCP_HEADER 20u
#define TCP_SYN 2u
#define TCP_ACK 16u

static inline uint32_t number(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

/* Of the bytes behind the IPv4 header. */
static inline enum verdict policy_tcp(enum side from, const uint8_t *tcp, uint32_t bytes)
{
    if (bytes < TCP_HEADER) {
        return MALFORMED;
    }
    if (from == OFFICE) {
        return number(tcp + 2) == WEB ? PASS : NOT_ALLOWED;
    }
    /* An answer has the server's port, and does not begin a connection. */
    uint32_t begins = (tcp[13] & (TCP_SYN | TCP_ACK)) == TCP_SYN;
    return number(tcp) == WEB && !begins ? PASS : NOT_ALLOWED;
}

static inline enum verdict policy_icmp(enum side from, const uint8_t *icmp, uint32_t bytes)
{
    if (bytes < 8) {
        return MALFORMED;
    }
    return icmp[0] == (from == OFFICE ? ECHO_REQUEST : ECHO_ANSWER) ? PASS : NOT_ALLOWED;
}

static inline enum verdict policy_ipv4(enum side from, const uint8_t *ip, uint32_t bytes)
{
    uint32_t header = (ip[0] & 15u) * 4;

    if (bytes < IPV4_HEADER || ip[0] >> 4 != 4 || header < IPV4_HEADER || number(ip + 2) < header ||
        number(ip + 2) > bytes) {
        return MALFORMED;
    }
    if ((number(ip + 6) & 0x3fffu) != 0) { /* more fragments follow, or it is a later one: ports cannot be seen */
        return FRAGMENT;
    }
    uint32_t rest = number(ip + 2) - header;
    return ip[9] == TCP    ? policy_tcp(from, ip + header, rest)
           : ip[9] == ICMP ? policy_icmp(from, ip + header, rest)
                           : NOT_ALLOWED;
}

/* May this frame, of 14 bytes at least, go to the other side? */
static inline enum verdict policy(enum side from, const uint8_t *frame, uint32_t bytes)
{
    switch (number(frame + 12)) {
    case ETHER_ARP:
        return PASS; /* who has an address is asked on both sides */
    case ETHER_IPV4:
        return policy_ipv4(from, frame + ETHER_HEADER, bytes - ETHER_HEADER);
    default:
        return NOT_IPV4;
    }
}

#endif
