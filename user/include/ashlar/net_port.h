/* Ports of a virtual switch: the driver's end of the protocol `ethernet`, for a process between guests or other clients. Each client
 * sees a network card of its own. Clients may end and be started again at any time. */
#ifndef ASHLAR_NET_PORT_H
#define ASHLAR_NET_PORT_H

#include <stdint.h>

#include "ashlar/domain.h"

#define NET_PORTS 8u         /* clients at most */
#define NET_PORT_FRAME 1514u /* bytes of a frame at most */
#define NET_PORT_FRAME_LEAST 14u
#define NET_PORT_HEADER 14u /* addresses and type */
#define NET_PORT_NONE 0xffffffffu

struct net_port_count {
    uint64_t from; /* frames that the client has sent, */
    uint64_t to;   /* that it was given, */
    uint64_t lost; /* and that it had no buffer for */
};

/* Makes `client`, a process, the client of port `number`, below NET_PORTS. Its card gets `address`. Requires: before the first
 * wait; the process has `serves = "ethernet"` in the description and the client names it as its network. Ends the
 * process with a message if the description does not say so. */
void net_port_serve(uint32_t number, const char *client, const uint8_t address[6]);

/* What has gone through port `number`. */
struct net_port_count net_port_count(uint32_t number);

/* ---- one frame after the other, as copies that the process may change and send to others ---- */

/* The next frame of any client, of each in turn: its port, or NET_PORT_NONE when `deadline` (ns since boot) has passed. `frame` has
 * room for NET_PORT_FRAME bytes. */
uint32_t net_port_await(uint8_t *frame, uint32_t *bytes, uint64_t deadline);

/* Sends a frame to the client of port `number`. Returns 1, or 0 if it was lost: the client has no buffer for it, or is not there. */
uint32_t net_port_send(uint32_t number, const uint8_t *frame, uint32_t bytes);

/* ---- for a process that waits for other things too, and decides whose turn it is ---- */

/* A frame where its sender has it. The header is a copy; the sender may be changing the rest. */
struct net_frame {
    uint8_t header[NET_PORT_HEADER];
    const uint8_t *bytes;
    uint32_t length; /* 0: what the client has sent is no frame */
};

/* Adds the mailboxes of all ports. */
void net_port_wait_for(struct mail_set *set);

/* Takes in the message that domain_await() has returned with `mailbox` of a port. A frame that a client sends waits at its port: the
 * client has it back when it was done with, and has 256 at most. */
void net_port_receive(uint32_t mailbox);

/* The port's oldest frame. Returns 0 if none waits. */
uint32_t net_port_first(uint32_t number, struct net_frame *frame);

/* The oldest frame is done with. Requires: one waits. */
void net_port_done(uint32_t number, uint32_t was_sent);

/* 1 while the port's client has opened its card. */
uint32_t net_port_is_open(uint32_t number);

/* How many buffers for frames it has lent. */
uint32_t net_port_buffers(uint32_t number);

/* Gives the client a frame, as net_port_send() does. */
uint32_t net_port_give(uint32_t number, const struct net_frame *frame);

#endif
