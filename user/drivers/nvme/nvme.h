/* The parts of the driver: controller (controller.c), queues and their entries (queue.c), the admin commands that set it up
 * (set_up.c), commands of the client (command.c), the client (disk.c), the bus (nvme.c). */
#ifndef NVME_H
#define NVME_H

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "pci_protocol.h"
#include "registers.h"
#include "sata_protocol.h"
#include "timer_protocol.h"

#define PAGE 4096u
#define NUM_SLOT 32u   /* commands of the client */
#define FLUSH NUM_SLOT /* the identifier of a flush; a command of the client has its slot's number */
#define NUM_ENTRY 64u  /* of each queue: more than there are commands, so that none is ever full */
#define NUM_LIST 64u   /* pages of a command, but for the first one */

/* Where things stand in the area of the link to the bus: a page for each queue. */
#define QUEUES_AT 0u /* submission and completion, of the admin pair and of the others */
#define ANSWER_AT 24576u
#define LISTS_AT 28672u /* of pages, for each slot */
#define LIST_SIZE (NUM_LIST * 8u)
#define AREA_SIZE (LISTS_AT + NUM_SLOT * LIST_SIZE)

#define IDENTITY_SIZE 512u /* bytes of a disk's answer to IDENTIFY, as the client's protocol has it */

/* Pairs of queues. Reads do not stand behind writes, unless the controller has one pair only, which is that of all commands then. */
#define ADMIN 0u
#define READS 1u
#define WRITES 2u /* and the flush */
#define NUM_PAIR 3u

/* What the disk is for the client: the states of its protocol between two messages. */
enum port { STOPPED, EMPTY, DETACHED, UNKNOWN, REACHED, IDENTIFIED, ACTIVE, FROZEN, WRECKED };

/* Reasons to fail. */
enum { REASON_HARDWARE = 1, REASON_REQUEST = 2, REASON_NO_DEVICE = 3, REASON_DROPPED = 4 };

/* How far a flush is. One that is not answered may still be under way, or commands before it are. */
enum flushed { FLUSH_WANTED, FLUSH_SENT, FLUSHED, FLUSH_FAILED };

struct command {
    uint64_t sector;
    uint32_t count;
    uint32_t buffer;
    uint8_t is_write;
    uint8_t force;
    uint8_t tries; /* that have failed */
};

/* What the driver does next: waits for messages, or does for one of them what takes its time. */
enum life {
    UNBOUND,
    RUNNING,
    SUSPENDED,
    FAILED,
    PROBING, /* the controller is started */
    RESUMING,
    MENDING,
    RESETTING,
    RECOVERING,
    IDENTIFYING,
    CONFIGURING,
    RECONFIGURING, /* as a part of a recovery */
    SUSPENDING,    /* commands come to their end */
    REMOVING,
    STOPPING,
    FLUSHING,
    FALLING_ASLEEP
};

extern enum life life;

/* Sequences of admin commands. */
enum job { RESTART, IDENTIFY, CONFIGURE };

struct admin {
    uint32_t operation;
    uint32_t at;   /* the page that it reads or writes, if it has to do with memory */
    uint32_t word; /* of the entry: the first one, and the second one */
    uint32_t next;
};

/* ---- controller.c ---- */
extern uint32_t is_up;  /* the controller works on its queues */
extern uint32_t stride; /* bytes between doorbells */

uint32_t start_controller(void); /* all commands are forgotten. Returns 1 if it takes admin commands */
uint32_t stop_controller(void);  /* it works on no command and touches no memory any more. Returns 1 if it obeys */
void shut_down_controller(void); /* the same; what is in its cache goes to the medium before */

/* ---- queue.c ---- */
extern uint32_t last_pair; /* that the controller has: READS or WRITES */
extern uint32_t result;    /* of the admin command that was done last */

uint32_t pair_of(uint32_t is_write);
void clear_queues(void);
volatile struct entry *new_entry(uint32_t pair, uint32_t id, uint32_t operation);
void submit(uint32_t pair);                              /* the entry that was made last */
uint32_t take_completion(uint32_t pair, uint32_t *word); /* returns 1 if there was one */
void free_completions(uint32_t pair);                    /* tells the device which were taken */
void free_new_completions(uint32_t pair);                /* ... if there are any that it does not know of */
void arm_timer(uint64_t nanoseconds);
void cancel_timer(void);
uint32_t execute(const struct admin *command, uint32_t of, uint32_t more); /* returns 1 if done */

/* ---- set_up.c ---- */
extern uint32_t name_space; /* that is served; 0: there is none */
extern uint32_t identity;   /* where the client wants its disk's answer to IDENTIFY */
extern uint64_t sectors;
extern uint32_t sector_size;
extern uint32_t transfer; /* bytes of a command at most */
extern uint8_t write_cache;

/* With RESTART all commands are forgotten, and `is_up` says whether the controller works. Returns 1 if the job was done. */
uint32_t set_up(enum job job);

/* ---- command.c ---- */
extern uint32_t issued;  /* a bit for each command that the device has */
extern uint32_t waiting; /* ... and that it is not given yet */
extern struct command command[NUM_SLOT];
extern uint32_t depth; /* commands at a time */
extern enum flushed flushed;

void tell_pairs(void);               /* how many there are, at the console */
uint32_t lowest_slot(uint32_t bits); /* requires: there is one */
uint32_t is_acceptable(uint32_t slot);
void issue(uint32_t slot);
void reap(void); /* tells the client of commands that are done */
/* Waits, for a while, until all are; if it `flushes`, then until the disk has written its cache. */
void drain(uint32_t flushes);
void fail_all(void); /* the client gets every open command back */

/* ---- disk.c ---- */
extern enum port port;

void announce(void);  /* tells the client of a disk that it does not know of */
void lose_disk(void); /* the client has one, and it is gone; touches no register */
void freeze(uint8_t reason);
void serve_client(uint32_t mailbox); /* one message, while there is a controller that works */
void turn_away(uint32_t mailbox);    /* ... and while there is none */
/* What was asked for has been done, or not. */
void was_reset(void);
void identified(uint32_t is_good);
void configured(uint32_t is_good);
void recovered(uint32_t is_good);
void was_flushed(void);
void fell_asleep(void);
void stopped(void);

#endif
