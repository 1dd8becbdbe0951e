/* Waiting for the disk: for a command that is not queued, or for the end of those that are. It tells by interrupts. Meanwhile the
 * driver takes messages of the bus, and those of the client that need not wait. */
#include "ahci.h"

#define DEADLINE 30000000000ul /* ns: a disk whose cache is full takes its time */

uint32_t has_failed;

void arm_timer(uint64_t nanoseconds)
{
    struct timer_arm body = {nanoseconds};
    EMIT(TIMER_ARM, 0, &body);
}

void cancel_timer(void)
{
    EMIT(TIMER_CANCEL);
    while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) != TIMER_CANCELLED) {
    }
}

static void begin_command(void)
{
    switch (job) {
    case IDENTIFYING:
        execute(ATA_IDENTIFY, 0, 0, 0);
        break;
    case READING_LOG:
        execute(ATA_READ_LOG, 0, LOG_QUEUE_ERROR, 1);
        break;
    case FLUSHING:
        execute(ATA_FLUSH, 0, 0, 0);
        break;
    case FALLING_ASLEEP:
        execute(ATA_STANDBY, 0, 0, 0);
        break;
    case WAKING:
        execute(ATA_IDLE, 0, 0, 0);
        break;
    default:
        execute(ATA_SET_FEATURES, write_cache ? FEATURE_CACHE_ON : FEATURE_CACHE_OFF, 0, 0);
        break;
    }
}

/* Looks how far the disk is. */
static enum outcome look(void)
{
    if (job < DRAINING) {
        if (is_executing()) {
            return BUSY;
        }
        return has_executed() ? DONE : BAD;
    }
    if (disk_fails()) {
        return BAD;
    }
    reap();
    return issued == 0u ? DONE : BUSY;
}

static enum outcome interrupt_meanwhile(void)
{
    uint32_t status = acknowledge();
    uint32_t is_there = disk_is_there();

    EMIT(PCI_IRQ_DONE);
    if ((status & INT_ERRORS) != 0u) {
        has_failed = 1;
        if (job >= DRAINING) {
            return BAD;
        }
    }
    return is_there ? BUSY : LATE; /* it does not answer any more, though it may be there again */
}

/* A suspend waits for the end of the job. After a removal or an error of the bus there is none to wait for. */
static enum outcome serve_meanwhile(uint32_t mailbox)
{
    switch (mailbox) {
    case PCI_IRQ:
        return interrupt_meanwhile();
    case PCI_UNPLUG:
        return GONE;
    case PCI_REMOVE:
        life = REMOVING;
        return CUT;
    case PCI_BUS_ERROR:
        life = MENDING;
        return CUT;
    case PCI_SUSPEND:
        life = SUSPENDING;
        return BUSY;
    default:
        return serve_queue(mailbox) ? CUT : BUSY;
    }
}

/* Until there is nothing to wait for any more. When the time is over, the registers have the last word: an interrupt may have been
 * lost. */
enum outcome await_disk(void)
{
    enum outcome outcome = BUSY;
    uint32_t mailbox = 0;

    if (job < DRAINING) {
        begin_command();
    }
    arm_timer(DEADLINE);
    while (outcome == BUSY) {
        outcome = look();
        if (outcome != BUSY || mailbox == TIMER_FIRED) {
            break;
        }
        mailbox = AWAIT(TIMER_FIRED, PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, SATA_READ, SATA_WRITE,
                        SATA_ABORT, SATA_STANDBY);
        if (mailbox != TIMER_FIRED) {
            outcome = serve_meanwhile(mailbox);
        }
    }
    if (mailbox != TIMER_FIRED) {
        cancel_timer();
    }
    has_failed = 0;
    return outcome == BUSY ? LATE : outcome;
}
