/* Ports of a virtual switch: the driver's end of the protocol `ethernet`, for a process between guests or other clients. Each client
 * sees a network card of its own. A frame that one sends is handed to this process as a copy, which it may change and send to
 * others. Clients may end and be started again at any time. */
#ifndef ASHLAR_NET_PORT_H
#define ASHLAR_NET_PORT_H

#include <stdint.h>

#define NET_PORTS 8u         /* clients at most */
#define NET_PORT_FRAME 1514u /* bytes of a frame at most */
#define NET_PORT_FRAME_LEAST 14u
#define NET_PORT_NONE 0xffffffffu

struct net_port_count {
    uint64_t from; /* frames that the client has sent, */
    uint64_t to;   /* that it was given, */
    uint64_t lost; /* and that it had no buffer for */
};

/* Makes `client`, a process, the client of port `number`, below NET_PORTS. Its card gets `address`. Requires: before the first
 * net_port_await(); the process has `serves = "ethernet"` in the description and the client names it as its network. Ends the
 * process with a message if the description does not say so. */
void net_port_serve(uint32_t number, const char *client, const uint8_t address[6]);

/* The next frame of any client: its port, or NET_PORT_NONE when `deadline` (ns since boot) has passed. `frame` has room for
 * NET_PORT_FRAME bytes. */
uint32_t net_port_await(uint8_t *frame, uint32_t *bytes, uint64_t deadline);

/* Sends a frame to the client of port `number`. Returns 1, or 0 if it was lost: the client has no buffer for it, or is not there. */
uint32_t net_port_send(uint32_t number, const uint8_t *frame, uint32_t bytes);

/* What has gone through port `number`. */
const struct net_port_count *net_port_count(uint32_t number);

#endif
