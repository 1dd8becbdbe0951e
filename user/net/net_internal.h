/* What the files of the network client use of each other. */
#ifndef ASHLAR_NET_INTERNAL_H
#define ASHLAR_NET_INTERNAL_H

#include <stdint.h>

#define ETHER_HEADER 14u
#define ETHER_IP 0x0800u
#define ETHER_ARP 0x0806u

/* ---- net.c: frames ---- */
extern uint32_t net_own_address;
extern uint32_t net_inserts; /* checksums that the interface can insert: bits of `offload` */

/* Where the next frame goes; null if all buffers are under way, or the interface is not open. */
uint8_t *net_frame(void);

void net_put_header(uint8_t *frame, const uint8_t *to, uint32_t type);

/* Sends `bytes` of it, 60 at least. Requires: net_frame() is not null. */
void net_send_frame(uint32_t bytes, uint16_t offload);

/* ---- arp.c ---- */

/* The hardware address; null if it is not known. */
const uint8_t *net_neighbour(uint32_t address);

/* Asks for it. */
void net_ask(uint32_t address);

void net_received_arp(const uint8_t *arp, uint32_t bytes);

/* ---- ip.c ---- */

/* Fills net_packet if the frame holds a whole packet for this process, and returns 1 then. */
int net_received_ip(const uint8_t *ip, uint32_t bytes, uint16_t checked);

/* ---- icmp.c ---- */

/* Answers net_packet if it is a ping, and returns 1 then. */
int net_answer_ping(void);

#endif
