/* What the parts of the block service know of each other: clients with their partitions and commands, and the slots of the disk's
 * queue in which commands are under way. */
#ifndef BLOCK_H
#define BLOCK_H

#include <stdint.h>

#include "ashlar/domain.h"
#include "sata_protocol.h"

#define NUM_CLIENT 8u
#define FIRST_PORT 8u /* of the domain: those below have the numbers of protocols */
#define NUM_COMMAND SATA_MAX_COMMAND
#define NUM_SLOT SATA_MAX_COMMAND
#define SLOT_BYTES 65536u /* the most of a command */
#define IDENTITY_BYTES 512u
#define NAME_BYTES 32u

_Static_assert(FIRST_PORT + NUM_CLIENT <= DOMAIN_PORTS, "each client has a port of the domain");

/* Reasons to fail. */
enum { REASON_HARDWARE = 1, REASON_REQUEST = 2, REASON_NO_DEVICE = 3, REASON_DROPPED = 4 };

/* What a client asks for: until it is answered, the client may not use its cookie again. */
enum command_state { FREE, WAITING, UNDER_WAY };

struct command {
    enum command_state state;
    uint8_t is_write;
    uint8_t force;   /* to the medium before it is done */
    uint64_t sector; /* of the partition */
    uint32_t count;
    uint32_t buffer; /* in the client's data area */
    uint32_t work;   /* that it costs (shares.h) */
};

/* Where a client stands: the states of its protocol between two messages. */
enum port { STOPPED, EMPTY, DETACHED, UNKNOWN, REACHED, IDENTIFIED, ACTIVE, FROZEN };

/* What a client is answered when none of its commands is under way any more. */
enum owed { NOTHING, RECOVERED, STOP_OK };

enum flush { NO_FLUSH, FLUSH_WAITING, FLUSH_UNDER_WAY };

struct client {
    char name[NAME_BYTES];
    uint64_t at; /* of its partition, bytes, as the description says */
    uint64_t size;
    uint32_t weight; /* of its share */
    uint64_t first;  /* ... and sectors, once the disk is known; none: it does not fit */
    uint64_t sectors;
    enum port port;
    enum owed owed;
    uint32_t depth;
    uint8_t has_cache; /* else each write is forced to the medium */
    uint8_t is_asleep; /* commands wait until it says that the disk is awake */
    enum flush flush;
    uint32_t flush_tries;
    uint64_t flush_after; /* ns since boot: until then it is in debt; 0: it is not */
    struct command command[NUM_COMMAND];
    uint8_t order[NUM_COMMAND]; /* cookies of commands that wait, in the order in which they came */
    uint32_t next, num_waiting;
    uint32_t num_under_way, places; /* ... and how many may be; so of their work */
    uint32_t work_under_way, work_most;
};

/* A place in the disk's queue, with SLOT_BYTES of the data area that is shared with the driver. */
struct slot {
    uint8_t is_used;
    uint8_t is_sent;    /* the driver has it */
    uint8_t is_suspect; /* it was under way when the queue stopped: it is tried alone */
    uint8_t tries;
    uint32_t client;
    uint32_t cookie;
    uint64_t sent; /* when, ns */
};

/* The disk, as it was seen last. */
struct disk {
    uint8_t is_known;
    uint32_t sector_size;
    uint32_t depth; /* slots that may be used: those below */
    uint64_t sectors;
    uint8_t identity[IDENTITY_BYTES]; /* its answer to IDENTIFY */
};

static struct client client[NUM_CLIENT];
static uint32_t num_client;
static uint32_t weights; /* of all clients */
static struct slot slot[NUM_SLOT];
static struct disk disk;

/* ---- what the clients' side has for the disk's side (clients.h) ---- */

static void client_finish(uint32_t number, uint32_t cookie, uint8_t reason, uint64_t sector);
static void clients_flushed(uint32_t is_good);
static void clients_announce(void);
static void clients_unplug(void);
static uint8_t *client_bytes(uint32_t number, const struct command *c);

#endif
