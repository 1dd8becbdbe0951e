/* The parts of the module: the driver's thread and its mailboxes (domain.c), memory for the device (memory.c), Linux's PCI bus as
 * the protocol `pci` has it (bus.c), and Linux's network interface as the client of `ethernet` (net.c, net_mail.c, net_ethtool.c).
 *
 * The driver is the same source as in Ashlar's processes; its state is in static variables, so the module drives one device. */
#ifndef ASHLAR_MODULE_H
#define ASHLAR_MODULE_H

#include <linux/completion.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "ashlar/driver.h"
#include "ethernet_protocol.h"
#include "pci_protocol.h"

#define MODULE_NAME "ashlar_rtl8139"

/* ---- domain.c ---- */

/* Starts the driver's thread. Returns 0 or an error. */
int domain_begin(void);

/* Ends it. Requires: no device is bound, so the driver waits; or it has broken its protocol. */
void domain_end(void);

/* Puts a message into the driver's mailbox, from any context. A message beyond the room that the protocols need is dropped,
 * with a line in the log. */
void domain_post(uint32_t mailbox, uint64_t cookie, const void *payload, size_t size);

/* Takes back what of this mailbox the driver has not taken yet. */
void domain_retract(uint32_t mailbox);

/* The driver has broken a protocol: its thread is parked, and no question is answered any more. */
bool domain_is_broken(void);

/* ---- memory.c ---- */

/* The areas of the two links: the device's descriptors, and the frames' buffers. */
int memory_begin(struct device *device);
void memory_end(struct device *device);

/* ---- what the driver sends; called in its thread ---- */
void bus_received(uint32_t mailbox, const void *payload);
void net_received(uint32_t mailbox, uint64_t cookie, const void *payload);

/* All that was sent before the driver waits: frames that have come go to Linux together. */
void net_flush(void);

/* The driver will not answer. */
void bus_broken(void);
void net_broken(void);

/* ---- a question and its answer ---- */
struct question {
    struct completion answered;
    uint32_t answer; /* mailbox of the answer; 0: the driver is broken */
};

/* Sends a message and sleeps until the driver has answered. Callers take turns. */
uint32_t question_ask(struct question *question, uint32_t mailbox, const void *payload, size_t size);
void question_answer(struct question *question, uint32_t answer);

/* ---- net.c ---- */

/* Before the driver's thread starts. */
void net_prepare(void);

/* Registers the network interface of a device that the driver has taken. Returns 0 or an error. */
int net_begin(struct device *device);

/* Unregisters it, which closes it. */
void net_end(void);

/* The interface does nothing while the device sleeps. */
void net_suspend(void);
void net_resume(void);

#endif
