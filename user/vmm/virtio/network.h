/* The guest's network: a client of who drives it, by the protocol `ethernet`. A driver that ends is a link that is down until it has
 * been started anew; frames under way are lost, as on a wire. */
#ifndef VMM_NETWORK_H
#define VMM_NETWORK_H

#include <stdint.h>

#define NETWORK_ADDRESS 6u   /* bytes of a hardware address */
#define NETWORK_NEVER (~0ul) /* no deadline */

/* Becomes the client of process `driver`. */
void network_connect(const char *driver);
/* Has the interface ever been open? Then it has an address, which stays. */
uint32_t network_is_known(void);
const uint8_t *network_address(void);
/* Can frames be sent? */
uint32_t network_is_open(void);
/* And is the link up? */
uint32_t network_is_up(void);

/* The oldest frame that has come and was not taken, with its bytes; null if there is none. */
const uint8_t *network_first(uint32_t *bytes);
/* Forgets it. Requires: there is one. */
void network_take(void);
/* Where the next frame to send goes, 2048 bytes; null if all such buffers are under way, or the interface is not open. */
uint8_t *network_frame(void);
/* Sends the frame that was put there. */
void network_send(uint32_t bytes);

/* Takes a message of the driver. */
void network_receive(uint32_t mailbox);
/* When network_expire() is to be called at the latest; NETWORK_NEVER if it need not be. */
uint64_t network_deadline(void);
void network_expire(uint64_t now);

#endif
