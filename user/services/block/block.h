/* What the parts of the block service know of each other: clients with their partitions and commands, and the slots of the disk's
 * queue in which commands are under way. */
#ifndef BLOCK_H
#define BLOCK_H

#include <stdint.h>

#include "ashlar/clients.h"
#include "sata_protocol.h"
#include "timer_protocol.h"

#define CLIENTS CLIENTS_MOST
#define COMMANDS SATA_MAX_COMMAND
#define SLOTS SATA_MAX_COMMAND
#define SLOT_BYTES 65536u /* the most of a command */
#define IDENTITY_BYTES 512u
#define SECTOR_LEAST 512u /* bytes */
#define SECTOR_MOST 4096u

/* The data area that is shared with the driver: a buffer for each slot, then the disk's answer to IDENTIFY. */
#define DISK_AREA AREA_OF_DRIVER(SATA_NUMBER)
#define IDENTITY (SLOTS * SLOT_BYTES)
#define DATA_PAGES (IDENTITY / 4096u + 1u)

/* Reasons to fail. */
enum { REASON_HARDWARE = 1, REASON_REQUEST = 2, REASON_NO_DEVICE = 3, REASON_DROPPED = 4 };

/* What a client has asked for. */
struct command {
    uint64_t sector; /* of the partition */
    uint32_t count;
    uint32_t buffer; /* in the client's data area */
    uint32_t is_write;
    uint32_t force; /* to the medium before it is done */
    uint32_t work;  /* that it costs (shares.h) */
    uint32_t slot;  /* it is under way there */
};

/* Where a client stands: the states of its protocol. In those behind ACTIVE it has a disk that takes no commands. */
enum port { STOPPED, EMPTY, DETACHED, UNKNOWN, REACHED, IDENTIFIED, ACTIVE, FROZEN, RECOVERING, WRECKED, STOPPING };

struct client {
    uint64_t at; /* of its partition, bytes, as the description says */
    uint64_t size;
    uint32_t weight; /* of its share */
    uint64_t first;  /* ... and sectors, once the disk is known; none: it does not fit */
    uint64_t sectors;
    enum port port;
    uint32_t queue_is_late; /* the tick has come once since it has to wait for its commands (patience.h), */
    uint32_t flush_is_late; /* for its flush */
    uint32_t depth;
    uint32_t has_cache;   /* else each write is forced to the medium */
    uint32_t is_asleep;   /* commands wait until it says that the disk is awake */
    uint32_t is_flushing; /* it has asked for a flush and is not answered, */
    uint64_t flush_round; /* which will be by this one of the disk's (queue.h), or a later one */
    uint32_t flush_tries;
    uint64_t flush_after;             /* ns since boot: until then it is in debt; 0: it is not */
    struct command command[COMMANDS]; /* by cookie */
    uint32_t open;                    /* commands that are not answered: a bit each; */
    uint32_t under_way;               /* those of them in a slot, */
    uint32_t next;                    /* the cookie that is looked at first */
    uint32_t num_under_way;           /* how many are under way, */
    uint32_t places;                  /* ... and may be; */
    uint32_t work_under_way;          /* so of their work */
    uint32_t work_most;
};

/* A place in the disk's queue, with SLOT_BYTES of the data area. */
struct slot {
    uint32_t client;
    uint32_t tries;
    uint64_t sent; /* when, ns since boot */
};

/* A disk as it was seen last. */
struct disk {
    uint32_t is_known;
    uint32_t sector_size; /* bytes: a power of two, */
    uint32_t shift;       /* this one */
    uint32_t depth;       /* slots that may be used: those below */
    uint64_t sectors;
};

static struct client client[CLIENTS];
static uint32_t weights; /* of all clients */
static struct slot slot[SLOTS];
/* Slots: a bit each. */
static uint32_t slots_of_disk; /* that it has; none while there is no disk */
static uint32_t slots_used;    /* a command is in it, */
static uint32_t slots_sent;    /* and the driver has it; */
static uint32_t slots_suspect; /* it was under way when the queue stopped, and is tried alone */
static struct disk disk;
static uint8_t disk_identity[IDENTITY_BYTES]; /* its answer to IDENTIFY */
static uint64_t flush_round;                  /* of the disk: that which is under way, or was last */

static inline uint32_t bit_of(uint32_t number)
{
    return 1u << (number % 32u);
}

/* Requires: the set is not empty. */
static inline uint32_t lowest_of(uint32_t set)
{
    return (uint32_t)__builtin_ctz(set);
}

/* Commands that have not begun. */
static inline uint32_t waiting_of(const struct client *c)
{
    return c->open & ~c->under_way;
}

#endif
