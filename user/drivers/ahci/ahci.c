/* Driver of AHCI host adapters with native command queueing: one disk, at port 0.
 *
 * Protocols: pci with the bus, sata with one client. What the adapter is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for the client is `port`. While there is no adapter the port
 * is stopped, empty or detached. */
#include "ahci.h"

enum life { UNBOUND, RUNNING, SUSPENDED, FAILED };

/* The adapter answers to accesses from now on. Returns 0 if it was lost meanwhile. */
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

/* The adapter is lost to the client. Touches no register. */
static void lose_device(void)
{
    if (port >= UNKNOWN) {
        lose_disk();
    }
}

static enum life unplug(void)
{
    lose_device();
    EMIT(PCI_UNPLUG_OK);
    return UNBOUND;
}

/* The adapter works again and has forgotten everything: what the client knows of is set up again. */
static void set_up_port(void)
{
    if (port == STOPPED) {
        return;
    }
    uint32_t is_there = reset_link();
    announce();
    if (port >= UNKNOWN && !is_there) {
        lose_disk();
    } else if (port == ACTIVE && (issued != 0u || !configure_disk())) {
        freeze(REASON_DROPPED);
    }
}

static enum life probe(void)
{
    if (!enable_device()) {
        return unplug();
    }
    uint32_t has_memory = dma_size(PCI_NUMBER) >= AREA_SIZE;
    if (!has_memory || !reset_adapter()) {
        struct pci_probe_fail body = {REASON_HARDWARE};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    quiet_adapter();
    EMIT(PCI_IRQ_ON);
    set_up_port();
    EMIT(PCI_PROBE_OK);
    return RUNNING;
}

static enum life remove_device(void)
{
    quiet_adapter();
    lose_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

/* Commands under way are completed first; if the disk does not, the client will hear that they were lost. */
static enum life suspend(void)
{
    if (port == ACTIVE) {
        drain();
        reap();
    }
    quiet_adapter();
    disable_device();
    EMIT(PCI_SUSPEND_OK);
    return SUSPENDED;
}

static enum life resume(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!reset_adapter()) {
        struct pci_resume_fail body = {REASON_HARDWARE};
        lose_device();
        EMIT(PCI_DISABLE);
        EMIT(PCI_RESUME_FAIL, 0, &body);
        return FAILED;
    }
    quiet_adapter();
    EMIT(PCI_IRQ_ON);
    set_up_port();
    EMIT(PCI_RESUME_OK);
    return RUNNING;
}

static enum life recover_device(void)
{
    if (!reset_adapter()) {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    quiet_adapter();
    set_up_port();
    EMIT(PCI_RECOVERED);
    return RUNNING;
}

static void interrupt(void)
{
    uint32_t status = read32(PX_IS);

    if (status != INT_ALL) {
        write32(PX_IS, status);
        write32(HBA_IS, PORT_BIT);
        if ((status & (INT_CONNECT | INT_PHY_READY)) != 0u) {
            write32(PX_SERR, 0xffffffffu);
        }
        if (port == ACTIVE) {
            reap();
            if ((status & INT_ERRORS) != 0u) {
                freeze(REASON_HARDWARE);
            }
        }
        if (port >= UNKNOWN && !disk_is_there()) {
            lose_disk();
        } else {
            announce();
        }
    }
    EMIT(PCI_IRQ_DONE);
}

static enum life unbound(void)
{
    uint32_t mailbox =
        AWAIT(PCI_PROBE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

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
    uint32_t mailbox = AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, SATA_START, SATA_STOP,
                             SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, SATA_READ, SATA_WRITE,
                             SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

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
        return recover_device();
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
        AWAIT(PCI_REMOVE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

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

const struct protocol *const driver_protocols[] = {&pci_protocol, &sata_protocol, 0};
