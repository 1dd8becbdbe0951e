/* The parts of the driver: host adapter and link (hba.c), commands (command.c), the client (service.c), the bus (ahci.c). */
#ifndef AHCI_H
#define AHCI_H

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "pci_protocol.h"
#include "registers.h"
#include "sata_protocol.h"

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

/* Reasons to fail. */
enum { REASON_HARDWARE = 1, REASON_REQUEST = 2, REASON_NO_DEVICE = 3, REASON_DROPPED = 4 };

struct command {
    uint64_t sector;
    uint32_t count;
    uint32_t buffer;
    uint8_t is_write;
    uint8_t force;
};

extern enum port port;
extern uint32_t is_asleep; /* commands wait until the disk is awake */
extern uint32_t issued;    /* a bit for each command that the device has */
extern uint32_t waiting;   /* ... and that it is not given yet */
extern struct command command[NUM_SLOT];
extern uint32_t slots; /* of the adapter */
extern uint32_t depth; /* of the disk's queue */
extern uint64_t sectors;
extern uint32_t sector_size;

/* ---- hba.c: every function touches registers ---- */

uint32_t adapter_answers(void);
uint32_t reset_adapter(void); /* returns 1 if it came out of its reset and can queue commands */
void quiet_adapter(void);     /* no interrupts, no work on commands */
uint32_t disk_is_there(void);
uint32_t reset_link(void); /* returns 1 if a device has answered; commands can then be given */
void stop_port(void);
void start_port(void);

/* ---- command.c ---- */

uint32_t execute(uint32_t operation, uint32_t features, uint64_t lba, uint32_t count); /* alone, and waited for */
uint16_t answer_word(uint32_t index);
uint32_t lowest_slot(uint32_t bits); /* requires: there is one */
void issue(uint32_t slot);
uint32_t is_acceptable(uint32_t slot);
void drain(void);    /* waits until the device has completed its commands, or stopped */
void reap(void);     /* tells the client of those it has completed; of none if the adapter has gone */
void fail_all(void); /* the client gets every open command back */

/* ---- service.c ---- */

void announce(void);  /* tells the client of a disk that it does not know of */
void lose_disk(void); /* the client has one, and it is gone; touches no register */
void freeze(uint8_t reason);
uint32_t configure_disk(void);
void serve_client(uint32_t mailbox, uint32_t has_device);

#endif
