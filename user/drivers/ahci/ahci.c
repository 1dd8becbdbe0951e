/* Driver of AHCI host adapters with native command queueing: one disk, at the port that `args.port` of the description
 * names (default 0).
 *
 * Protocols: pci with the bus, sata with one client, and timer. What the bus has asked for is `life`, what the port is for the
 * client is `port`, what it is busy with is `job`. While there is no adapter the port is stopped, empty or detached. */
#include "ahci.h"

enum life life;
enum job job;

static void disable_device(void)
{
    EMIT(PCI_IRQ_OFF);
    EMIT(PCI_DISABLE);
}

/* The adapter has gone, and with it what the client has asked of its disk. */
static void unplug(void)
{
    lose_device();
    life = UNBOUND;
    EMIT(PCI_UNPLUG_OK);
}

/* ---- what the bus asks for ---- */

static void fail_probe(void)
{
    struct pci_probe_fail body = {REASON_HARDWARE};
    EMIT(PCI_PROBE_FAIL, 0, &body);
}

static void fail_resume(void)
{
    struct pci_resume_fail body = {REASON_HARDWARE};
    EMIT(PCI_RESUME_FAIL, 0, &body);
}

/* The adapter answers to accesses, and may interrupt, from now on. With its reset it forgets commands that are still under way. */
static void begin_reset(void)
{
    if (life != MENDING) {
        EMIT(PCI_ENABLE);
        if (AWAIT(PCI_ENABLED, PCI_UNPLUG) == PCI_UNPLUG) {
            life = LOST;
            return;
        }
        EMIT(PCI_IRQ_ON);
    }
    if (port == ACTIVE && issued != 0u) {
        freeze(REASON_DROPPED);
    }
    job = RESETTING_ADAPTER;
}

static void begin_for_bus(void)
{
    if (life == SUSPENDING && port == ACTIVE) {
        job = PAUSING;
    } else if (life == SUSPENDING || life == REMOVING) {
        job = QUIETING;
    } else {
        begin_reset();
    }
}

/* The adapter works again, or it does not. */
static void adapter_is_back(uint32_t is_good)
{
    enum life was = life;

    if (!is_good) {
        lose_device();
        disable_device();
    }
    life = is_good ? RUNNING : FAILED;
    switch (was) {
    case PROBING:
        if (is_good) {
            EMIT(PCI_PROBE_OK);
        } else {
            fail_probe();
            life = UNBOUND;
        }
        break;
    case RESUMING:
        if (is_good) {
            EMIT(PCI_RESUME_OK);
        } else {
            fail_resume();
        }
        break;
    default:
        if (is_good) {
            EMIT(PCI_RECOVERED);
        } else {
            EMIT(PCI_UNRECOVERABLE);
        }
        break;
    }
}

void answer_bus(uint32_t is_good)
{
    switch (life) {
    case SUSPENDING:
        disable_device();
        life = SUSPENDED;
        EMIT(PCI_SUSPEND_OK);
        break;
    case REMOVING:
        lose_device();
        disable_device();
        life = UNBOUND;
        EMIT(PCI_REMOVE_OK);
        break;
    default:
        adapter_is_back(is_good);
        break;
    }
}

/* ---- messages ---- */

static void interrupt(void)
{
    uint32_t status = acknowledge();

    if (status != INT_ALL) {
        if (port == ACTIVE) {
            if ((status & INT_ERRORS) != 0u) {
                freeze(REASON_HARDWARE);
            } else {
                reap();
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

static void unbound(void)
{
    uint32_t mailbox =
        AWAIT(PCI_PROBE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

    if (mailbox == PCI_PROBE) {
        if (dma_size(PCI_NUMBER) >= AREA_SIZE) {
            life = PROBING;
        } else {
            fail_probe();
        }
    } else if (mailbox != PCI_UNPLUG) {
        turn_away(mailbox);
    }
}

static void running(void)
{
    uint32_t mailbox = AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, SATA_START, SATA_STOP,
                             SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, SATA_READ, SATA_WRITE,
                             SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

    switch (mailbox) {
    case PCI_IRQ:
        interrupt();
        break;
    case PCI_UNPLUG:
        life = LOST;
        break;
    case PCI_REMOVE:
        life = REMOVING;
        break;
    case PCI_SUSPEND:
        life = SUSPENDING;
        break;
    case PCI_BUS_ERROR:
        life = MENDING;
        break;
    default:
        serve_client(mailbox);
        break;
    }
}

static void suspended(void)
{
    if (AWAIT(PCI_RESUME, PCI_UNPLUG) == PCI_RESUME) {
        life = RESUMING;
    } else {
        life = LOST;
    }
}

static void failed(void)
{
    uint32_t mailbox =
        AWAIT(PCI_REMOVE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

    if (mailbox == PCI_UNPLUG) {
        life = LOST;
    } else if (mailbox == PCI_REMOVE) {
        life = UNBOUND;
        EMIT(PCI_REMOVE_OK);
    } else {
        turn_away(mailbox);
    }
}

static void live(void)
{
    switch (life) {
    case UNBOUND:
        unbound();
        break;
    case RUNNING:
        running();
        break;
    case SUSPENDED:
        suspended();
        break;
    case FAILED:
        failed();
        break;
    default:
        begin_for_bus();
        break;
    }
}

/* The port has nothing to do: it looks for a disk that came or went meanwhile, and commands that have waited are issued. */
static void rest(void)
{
    if (port >= UNKNOWN && !disk_is_there()) {
        lose_disk();
    } else {
        announce();
    }
    if (port == ACTIVE && !is_asleep) {
        for (uint32_t left = waiting; left != 0u; left = left & (left - 1u)) {
            issue(lowest_slot(left));
        }
    }
}

/* The adapter has gone. Returns 1 if there is something to finish all the same: the client's stop. */
static uint32_t abandon(void)
{
    enum job was = job;

    life = LOST;
    job = NONE;
    if (was == STARTING) {
        fail_start(REASON_NO_DEVICE);
    } else if (was == ENDING || was == STOPPING) {
        job = STOPPING;
    }
    return job == STOPPING;
}

static void work(void)
{
    enum outcome outcome = job < IDENTIFYING ? do_hardware() : await_disk();

    if (outcome == GONE && !abandon()) {
        return;
    }
    finish(outcome);
    if (job == NONE && life == RUNNING) {
        rest();
    }
}

void driver(void)
{
    for (;;) {
        if (life == LOST) {
            unplug();
        } else if (job != NONE) {
            work();
        } else {
            live();
        }
    }
}

const struct protocol *const driver_protocols[] = {&pci_protocol, &sata_protocol, &timer_protocol, 0};
