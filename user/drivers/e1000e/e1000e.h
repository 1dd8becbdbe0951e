/* The parts of the driver: the device as a whole (device.c), descriptors and requests (rings.c), where checksums go (checksum.c),
 * the client (client.c), the bus (e1000e.c). */
#ifndef E1000E_H
#define E1000E_H

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "ethernet_protocol.h"
#include "pci_protocol.h"
#include "registers.h"

/* Where the descriptors stand in the area of the link to the bus: a page for each ring, which must not cross one. */
#define RX_RING 0u
#define TX_RING 4096u
#define RINGS_SIZE 8192u

#define FRAME_LEAST 14u
#define BUFFER_SIZE 2048u /* of a buffer, at most: two to a page */
#define NUM_SLOT 256u     /* requests of a kind: as many as the protocol lets be open */

/* What the driver is for the client. */
enum client { CLOSED, OPEN, GONE };

/* Status of transmissions, and of other requests. */
enum { DONE, DROPPED, WIRE_ERROR, NO_DEVICE };
/* Reasons to refuse. */
enum { REASON_HARDWARE = 1, REASON_MEMORY = 2, REASON_NO_DEVICE = 3 };

/* Where the headers of a frame stand that checksums are inserted in: the first words of a context descriptor, and its commands.
 * What inserts none has zeros. */
struct context {
    uint32_t ip;
    uint32_t transport;
    uint32_t commands;
};

struct request {
    uint64_t cookie;
    uint32_t buffer;
    uint32_t length;
    uint32_t inserts; /* TX_INSERT_* */
    struct context context;
};

/* Counts of requests ever: those that came, those given to the device, those done. Entries done .. came are open. */
struct queue {
    uint32_t came;
    uint32_t given;
    uint32_t done;
    struct request request[NUM_SLOT];
};

/* ---- device.c ---- */
extern uint32_t link_is_up;
extern uint32_t filter; /* bits of RCTL */
extern uint8_t address[6];

/* Returns 1 if the device has come out of its reset. */
uint32_t reset_device(void);

void read_address(void);
void write_address(void);
void write_filter(void);

/* No frames, no interrupts, no work on descriptors. */
void stop_device(void);

/* Tells the device where the rings of descriptors are, and that they are empty. */
void write_rings(void);

/* Tells the client if its cable was plugged or pulled. */
void check_link(void);

/* ---- rings.c ---- */
extern struct queue transmits;
extern struct queue receives;
extern struct ethernet_statistics statistics;

/* Lets frames flow. */
void start_device(void);

/* Give the device what it has descriptors for. */
void give_transmits(void);
void give_receives(void);

/* Tell the client of every transmission the device is done with, and of every frame that has come. */
void reap_transmits(void);
void reap_receives(void);

/* Every open transmission is over. */
void drop_transmits(uint8_t status);

/* Every receive buffer goes back. Only for a client that closes, or has lost its device. */
void return_receives(void);

/* ---- checksum.c ---- */

/* Makes the frame of a request ready for the checksums that `offload` of the protocol asks for. Returns 0 if there is no place
 * for them: then it is no whole packet of IPv4, TCP or UDP. Requires: buffer and length of the request are good, and nothing of it
 * says yet that something is inserted. */
uint32_t prepare_checksums(struct request *request, uint32_t offload);

/* ---- client.c ---- */
extern enum client client;

/* One message of the client. `has_device`: the bus has given the device to the driver, and it works. */
void serve_client(uint32_t mailbox, uint32_t has_device);

/* The device is lost to the client, for good. Touches no register. */
void lose_device(void);

#endif
