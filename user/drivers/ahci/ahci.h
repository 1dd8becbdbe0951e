/* The parts of the driver: host adapter, link and engine (hba.c), commands (command.c), waiting for the disk (wait.c),
 * the disk as the client knows it (disk.c), what comes of the port's jobs (jobs.c), the client (service.c), the bus (ahci.c). */
#ifndef AHCI_H
#define AHCI_H

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "pci_protocol.h"
#include "registers.h"
#include "sata_protocol.h"
#include "timer_protocol.h"

#define NUM_SLOT 32u
#define SECTOR 512u /* bytes of what IDENTIFY and logs answer */

/* Where things stand in the area of the link to the bus. */
#define LIST_AT 0u
#define FRAMES_AT 1024u
#define ANSWER_AT 2048u /* of IDENTIFY and of logs */
#define TABLES_AT 4096u
#define AREA_SIZE (TABLES_AT + NUM_SLOT * (uint32_t)sizeof(struct table))

/* What the port is for the client: the states of its protocol between two messages. */
enum port { STOPPED, EMPTY, DETACHED, UNKNOWN, REACHED, IDENTIFIED, ACTIVE, FROZEN, WRECKED };

/* What the bus has asked for: it waits for an answer in those behind FAILED. */
enum life { UNBOUND, RUNNING, SUSPENDED, FAILED, PROBING, RESUMING, MENDING, SUSPENDING, REMOVING, LOST };

/* What the port is busy with. A job leads to the next one, or to NONE. */
enum job {
    NONE,
    /* The engine or the link is stopped or set going. */
    STARTING,
    RESETTING,
    RECOVERING, /* the engine stops, and with it the queue */
    RELINKING,  /* ... the disk is reset, if it does not say which command stopped the queue */
    RESTARTING, /* the engine, after an error */
    STOPPING,
    RESETTING_ADAPTER,
    SETTING_UP, /* the link, after a reset of the adapter */
    QUIETING,
    /* The disk executes a command that is not queued. */
    IDENTIFYING,
    CONFIGURING,
    READING_LOG,
    RECONFIGURING, /* after a recovery, as it was */
    SETTING_DISK,  /* ... and after a reset of the adapter */
    FLUSHING,
    FALLING_ASLEEP,
    WAKING,
    /* Queued commands come to their end. */
    DRAINING, /* for a flush */
    ENDING,   /* for the client's stop */
    PAUSING   /* for a suspend */
};

/* What has come of a job. */
enum outcome {
    BUSY,
    DONE,
    BAD,
    LATE, /* the disk has not answered */
    CUT,  /* it was not waited for any more */
    GONE  /* the adapter was lost: no register may be touched */
};

/* Reasons to fail. */
enum { REASON_HARDWARE = 1, REASON_REQUEST = 2, REASON_NO_DEVICE = 3, REASON_DROPPED = 4 };

struct command {
    uint64_t sector;
    uint32_t count;
    uint32_t buffer;
    uint8_t is_write;
    uint8_t force;
};

extern enum life life;
extern enum port port;
extern enum job job;
extern uint32_t has_failed; /* the disk has, while it is waited for */
extern uint32_t is_asleep;  /* commands wait until the disk is awake */
extern uint32_t issued;     /* a bit for each command that the device has */
extern uint32_t waiting;    /* ... and that it is not given yet */
extern struct command command[NUM_SLOT];
extern uint32_t slots; /* of the adapter */
extern uint32_t depth; /* of the disk's queue */
extern uint64_t sectors;
extern uint32_t sector_size;
extern uint8_t write_cache;
extern uint32_t queue_depth; /* what the disk can do */
extern uint32_t log_tells;   /* the disk has stopped by itself, and its log says why */
extern uint32_t identity;    /* where the client wants the answer to IDENTIFY */

/* ---- hba.c: every function touches registers, and returns 0 at once when the adapter is lost ---- */

uint32_t port_register(uint32_t offset); /* the place of a register of the port; touches none */
uint32_t adapter_answers(void);
uint32_t acknowledge(void);    /* returns what the port's interrupts say; INT_ALL if no adapter answers */
uint32_t port_has_error(void); /* one that acknowledge() has not told of yet */
uint32_t disk_is_there(void);
void start_port(void);          /* requires: the engine is stopped. Errors are forgotten */
enum outcome do_hardware(void); /* what the job does to engine and link */

/* ---- command.c ---- */

/* A command that is not queued, in slot 0. Requires: nothing is issued, or the queue was stopped. */
void execute(uint32_t operation, uint32_t features, uint64_t lba, uint32_t count);
uint32_t is_executing(void);
uint32_t disk_fails(void);   /* while it is waited for; also where no interrupt has told of it yet */
uint32_t has_executed(void); /* returns 1 if the disk has done it well */
uint16_t answer_word(uint32_t index);
uint32_t lowest_slot(uint32_t bits); /* requires: there is one */
void issue(uint32_t slot);
uint32_t is_acceptable(uint32_t slot);
void reap(void); /* tells the client of commands that are done; of none if the adapter has gone. Requires: no error */
void fail_all(void); /* the client gets every open command back */

/* ---- wait.c ---- */

void arm_timer(uint64_t nanoseconds);
void cancel_timer(void);
enum outcome await_disk(void); /* what the disk has been told to do for the job */

/* ---- disk.c ---- */

void announce(void);    /* tells the client of a disk that it does not know of */
void lose_disk(void);   /* the client has one, and it is gone; touches no register */
void lose_device(void); /* the adapter is lost to the client; touches no register */
void forget_commands(void);
void freeze(uint8_t reason);
void fail(uint64_t cookie, uint64_t sector, uint8_t reason);
void fail_start(uint8_t reason);
void fail_identify(uint8_t reason);
/* What the client has asked for is done, or not. */
void started(void);
void was_reset(uint32_t is_good);
void identified(uint32_t is_good);
void configured(uint32_t is_good);
void recovered(uint32_t is_good);
uint32_t fail_command_of_log(void); /* returns 0 if the disk does not tell which command it was */

/* ---- jobs.c ---- */

void fail_flush(void);
void finish(enum outcome outcome); /* the job is over; the next one, if it leads to one */

/* ---- service.c ---- */

void serve_client(uint32_t mailbox);    /* one message, while there is an adapter that works and the port is not busy */
uint32_t serve_queue(uint32_t mailbox); /* ... that can come while it is */
void turn_away(uint32_t mailbox);       /* ... while there is no adapter that works */

/* ---- ahci.c ---- */

void answer_bus(uint32_t is_good); /* what it has asked for was done, or not */

#endif
