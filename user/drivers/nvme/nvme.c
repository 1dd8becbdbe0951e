/* Driver of NVM Express controllers: one namespace, the first one, with a pair of queues for its reads and one
 * for its writes.
 *
 * Protocols: pci with the bus, sata with one client, which needs not know what kind of disk it has, and timer. What the driver
 * does next is `life`; what the disk is for the client is `port`. While there is no controller the port is stopped, empty or
 * detached. */
#include "nvme.h"

enum life life;

/* The controller answers to accesses from now on. Returns 0 if it was lost meanwhile. */
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

/* The controller is lost to the client. Touches no register. */
static void lose_device(void)
{
    if (port >= UNKNOWN) {
        lose_disk();
    }
}

static void unplug(void)
{
    lose_device();
    EMIT(PCI_UNPLUG_OK);
    life = UNBOUND;
}

/* ---- what takes its time ---- */

/* The commands by which it is set up are waited for by interrupts, so these are on before. */
static void begin_start(void)
{
    if (enable_device()) {
        EMIT(PCI_IRQ_ON);
    } else {
        unplug();
    }
}

/* The controller works again and has forgotten everything. A client whose disk it has sets it up again by a recovery. */
static void set_up_port(void)
{
    if (port == STOPPED) {
        return;
    }
    announce();
    if (port >= UNKNOWN && name_space == 0u) {
        lose_disk();
    } else if (port == ACTIVE) {
        freeze(REASON_DROPPED);
    }
}

static void probed(void)
{
    if (is_up) {
        set_up_port();
        EMIT(PCI_PROBE_OK);
        life = RUNNING;
    } else {
        struct pci_probe_fail body = {REASON_HARDWARE};
        disable_device();
        EMIT(PCI_PROBE_FAIL, 0, &body);
        life = UNBOUND;
    }
}

static void resumed(void)
{
    if (is_up) {
        set_up_port();
        EMIT(PCI_RESUME_OK);
        life = RUNNING;
    } else {
        struct pci_resume_fail body = {REASON_HARDWARE};
        lose_device();
        disable_device();
        EMIT(PCI_RESUME_FAIL, 0, &body);
        life = FAILED;
    }
}

static void mended(void)
{
    if (is_up) {
        set_up_port();
        EMIT(PCI_RECOVERED);
        life = RUNNING;
    } else {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        life = FAILED;
    }
}

/* What the controller is told for the bus or the client. A recovery starts it again, and then sets up the disk. */
static void do_job(void)
{
    enum job job = RESTART;

    if (life == IDENTIFYING) {
        job = IDENTIFY;
    } else if (life == CONFIGURING || life == RECONFIGURING) {
        job = CONFIGURE;
    }
    uint32_t is_done = set_up(job);
    switch (life) {
    case PROBING:
        probed();
        break;
    case RESUMING:
        resumed();
        break;
    case MENDING:
        mended();
        break;
    case RESETTING:
        was_reset();
        life = RUNNING;
        break;
    case IDENTIFYING:
        identified(is_done);
        life = RUNNING;
        break;
    case CONFIGURING:
        configured(is_done);
        life = RUNNING;
        break;
    case RECOVERING:
        if (is_up && name_space != 0u) {
            life = RECONFIGURING;
        } else {
            recovered(0);
            life = RUNNING;
        }
        break;
    default:
        recovered(is_done);
        life = RUNNING;
        break;
    }
}

/* Commands under way are completed first. If the disk does not, the client will hear that they were lost, and gets no buffer back
 * before the controller has stopped. */
static void end_commands(void)
{
    if (port == ACTIVE && life != REMOVING) {
        drain(life == FLUSHING || life == FALLING_ASLEEP);
    }
    if (life == SUSPENDING || life == REMOVING) {
        shut_down_controller();
    } else if (life == STOPPING && issued != 0u) {
        stop_controller();
    }
    switch (life) {
    case SUSPENDING:
        disable_device();
        EMIT(PCI_SUSPEND_OK);
        life = SUSPENDED;
        break;
    case REMOVING:
        lose_device();
        disable_device();
        EMIT(PCI_REMOVE_OK);
        life = UNBOUND;
        break;
    case STOPPING:
        stopped();
        life = RUNNING;
        break;
    case FLUSHING:
        was_flushed();
        life = RUNNING;
        break;
    default:
        fell_asleep();
        life = RUNNING;
        break;
    }
}

/* ---- messages ---- */

static void unbound(void)
{
    uint32_t mailbox =
        AWAIT(PCI_PROBE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

    if (mailbox == PCI_PROBE) {
        life = PROBING;
        begin_start();
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
        reap();
        EMIT(PCI_IRQ_DONE);
        break;
    case PCI_UNPLUG:
        unplug();
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
        begin_start();
    } else {
        unplug();
    }
}

static void failed(void)
{
    uint32_t mailbox =
        AWAIT(PCI_REMOVE, PCI_UNPLUG, SATA_START, SATA_STOP, SATA_UNPLUGGED_OK, SATA_RESET, SATA_IDENTIFY,
              SATA_CONFIGURE, SATA_READ, SATA_WRITE, SATA_ABORT, SATA_RECOVER, SATA_FLUSH, SATA_STANDBY, SATA_WAKE);

    if (mailbox == PCI_UNPLUG) {
        unplug();
    } else if (mailbox == PCI_REMOVE) {
        EMIT(PCI_REMOVE_OK);
        life = UNBOUND;
    } else {
        turn_away(mailbox);
    }
}

void driver(void)
{
    for (;;) {
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
        case SUSPENDING:
        case REMOVING:
        case STOPPING:
        case FLUSHING:
        case FALLING_ASLEEP:
            end_commands();
            break;
        default:
            do_job();
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&pci_protocol, &sata_protocol, &timer_protocol, 0};
