/* The life of a network adapter between the bus and one client, which all drivers of such adapters have in common. Each includes
 * this once, with its own header before: that has `client`, `link_is_up`, the statuses and reasons, and
 *
 *   RINGS_SIZE          bytes of the area that the driver shares with the device
 *   reset_device        returns 1 if the device has come out of its reset
 *   stop_device         no frames, no interrupts, no work on descriptors
 *   start_device        lets frames flow
 *   read_address        of the device, as it is before a client sets another
 *   drop_transmits      ends what is open of them, with a status
 *   serve_client        takes one message of the client; says whether there is a device that works
 *   lose_device         takes the device from the client, and touches no register
 *
 * Protocols: pci with the bus, ethernet with the client. What the device is doing for the bus is where the program stands: unbound(),
 * running(), suspended(), failed(); what it is doing for the client is `client`. */
#ifndef ETHERNET_LIFE_H
#define ETHERNET_LIFE_H

#include "ethernet_protocol.h"
#include "pci_protocol.h"

enum life { UNBOUND, RUNNING, SUSPENDED, FAILED };

/* PCI_IRQ has come. */
static void interrupt(void);

/* The device answers to accesses from now on. Returns 0 if it was lost meanwhile. */
static uint32_t enable_device(void)
{
    EMIT(PCI_ENABLE);
    return AWAIT(PCI_ENABLED, PCI_UNPLUG) == PCI_ENABLED;
}

static void disable_device(void)
{
    EMIT(PCI_IRQ_OFF);
    EMIT(PCI_DISABLE);
}

/* The bus has said that the device is gone. */
static enum life unplug(void)
{
    lose_device();
    EMIT(PCI_UNPLUG_OK);
    return UNBOUND;
}

static enum life probe(void)
{
    if (!enable_device()) {
        return unplug();
    }
    uint32_t has_memory = dma_size(PCI_NUMBER) >= RINGS_SIZE;
    if (!has_memory || !reset_device()) {
        struct pci_probe_fail body = {has_memory ? REASON_HARDWARE : REASON_MEMORY};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    stop_device();
    read_address();
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_PROBE_OK);
    return RUNNING;
}

static enum life remove_device(void)
{
    stop_device();
    lose_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

/* Frames under way are dropped; buffers for frames stay with the driver. */
static enum life suspend(void)
{
    stop_device();
    if (client == OPEN) {
        drop_transmits(DROPPED);
        if (link_is_up) {
            link_is_up = 0;
            EMIT(ETHERNET_LINK_DOWN);
        }
    }
    disable_device();
    EMIT(PCI_SUSPEND_OK);
    return SUSPENDED;
}

static enum life resume(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!reset_device()) {
        struct pci_resume_fail body = {REASON_HARDWARE};
        lose_device();
        EMIT(PCI_DISABLE);
        EMIT(PCI_RESUME_FAIL, 0, &body);
        return FAILED;
    }
    stop_device();
    EMIT(PCI_IRQ_ON);
    if (client == OPEN) {
        start_device();
    }
    EMIT(PCI_RESUME_OK);
    return RUNNING;
}

static enum life recover(void)
{
    if (!reset_device()) {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    stop_device();
    if (client == OPEN) {
        drop_transmits(DROPPED);
        start_device();
    }
    EMIT(PCI_RECOVERED);
    return RUNNING;
}

static enum life unbound(void)
{
    uint32_t mailbox =
        AWAIT(PCI_PROBE, PCI_UNPLUG, ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER,
              ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS);

    if (mailbox == PCI_PROBE) {
        return probe();
    }
    if (mailbox != PCI_UNPLUG) {
        serve_client(mailbox, 0);
    }
    return UNBOUND;
}

static enum life running(void)
{
    uint32_t mailbox = AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, ETHERNET_OPEN, ETHERNET_CLOSE,
                             ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER, ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS,
                             ETHERNET_GET_STATISTICS);

    switch (mailbox) {
    case PCI_IRQ:
        interrupt();
        return RUNNING;
    case PCI_UNPLUG:
        return unplug();
    case PCI_REMOVE:
        return remove_device();
    case PCI_SUSPEND:
        return suspend();
    case PCI_BUS_ERROR:
        return recover();
    default:
        serve_client(mailbox, 1);
        return RUNNING;
    }
}

static enum life suspended(void)
{
    if (AWAIT(PCI_RESUME, PCI_UNPLUG) == PCI_RESUME) {
        return resume();
    }
    return unplug();
}

static enum life failed(void)
{
    uint32_t mailbox =
        AWAIT(PCI_REMOVE, PCI_UNPLUG, ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_TRANSMIT, ETHERNET_RECEIVE_BUFFER,
              ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS);

    if (mailbox == PCI_UNPLUG) {
        return unplug();
    }
    if (mailbox == PCI_REMOVE) {
        EMIT(PCI_REMOVE_OK);
        return UNBOUND;
    }
    serve_client(mailbox, 0);
    return FAILED;
}

void driver(void)
{
    enum life life = UNBOUND;

    for (;;) {
        switch (life) {
        case UNBOUND:
            life = unbound();
            break;
        case RUNNING:
            life = running();
            break;
        case SUSPENDED:
            life = suspended();
            break;
        case FAILED:
            life = failed();
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&pci_protocol, &ethernet_protocol, 0};

#endif
