/* What comes of the port's jobs: the answers that the client or the bus waits for, and the next job. */
#include "ahci.h"

/* ---- the cache, sleep, the end ---- */

void fail_flush(void)
{
    struct sata_flush_fail body = {0};
    EMIT(SATA_FLUSH_FAIL, 0, &body);
}

/* A command that was not queued has failed, and the client has been told. A disk that has not answered may do so later, when its
 * answer would be taken for that to the next command: only a recovery makes sure that it does not. */
static void go_on_after_failure(enum outcome outcome)
{
    if (outcome == LATE) {
        freeze(REASON_DROPPED);
    } else if (outcome == BAD) {
        job = RESTARTING;
    }
}

static void was_flushed(enum outcome outcome)
{
    if (outcome == DONE) {
        EMIT(SATA_FLUSH_OK);
    } else {
        fail_flush();
        go_on_after_failure(outcome);
    }
}

static void fell_asleep(enum outcome outcome)
{
    if (outcome == DONE) {
        is_asleep = 1;
        EMIT(SATA_STANDBY_OK);
    } else {
        EMIT(SATA_STANDBY_FAIL);
        go_on_after_failure(outcome);
    }
}

static void woke(enum outcome outcome)
{
    if (outcome == DONE) {
        is_asleep = 0;
        EMIT(SATA_WAKE_OK);
    } else {
        EMIT(SATA_WAKE_FAIL);
        go_on_after_failure(outcome);
    }
}

/* Buffers go back: the disk has let go of them. */
static void stopped(void)
{
    if (port == ACTIVE || port == FROZEN || port == WRECKED) {
        fail_all();
    }
    forget_commands();
    port = STOPPED;
    EMIT(SATA_STOP_OK);
}

/* ---- jobs ---- */

static void link_is_set_up(uint32_t is_there)
{
    announce();
    if (!is_there) {
        lose_device();
    }
    if (port == ACTIVE) {
        job = SETTING_DISK;
    } else {
        answer_bus(1);
    }
}

static void finish_for_bus(enum job was, enum outcome outcome)
{
    switch (was) {
    case RESETTING_ADAPTER:
        if (outcome == DONE && port != STOPPED) {
            job = SETTING_UP;
            return;
        }
        break;
    case SETTING_UP:
        link_is_set_up(outcome == DONE);
        return;
    case SETTING_DISK:
        if (outcome != DONE && port == ACTIVE) {
            freeze(REASON_DROPPED);
        }
        outcome = DONE;
        break;
    case PAUSING:
        job = QUIETING;
        return;
    default:
        break;
    }
    answer_bus(outcome == DONE);
}

/* Where the disk does not name the command that stopped its queue, it is reset and configured again. */
static void go_on_with_recovery(enum job was, enum outcome outcome)
{
    if (was == RECOVERING) {
        job = RELINKING;
        if (log_tells) {
            log_tells = 0;
            start_port();
            job = READING_LOG;
        }
    } else if (was == READING_LOG && (outcome != DONE || !fail_command_of_log())) {
        job = RELINKING;
    } else if (was == RELINKING && outcome == DONE) {
        job = RECONFIGURING;
    } else {
        recovered(outcome == DONE);
    }
}

void finish(enum outcome outcome)
{
    enum job was = job;

    job = NONE;
    switch (was) {
    case STARTING:
        started();
        break;
    case RESETTING:
        was_reset(outcome == DONE);
        break;
    case IDENTIFYING:
        identified(outcome == DONE);
        break;
    case CONFIGURING:
        configured(outcome == DONE);
        break;
    case RECOVERING:
    case READING_LOG:
    case RELINKING:
    case RECONFIGURING:
        go_on_with_recovery(was, outcome);
        break;
    case DRAINING:
        if (outcome == DONE) {
            job = FLUSHING;
            break;
        }
        fail_flush();
        if (outcome == BAD) {
            freeze(REASON_HARDWARE);
        }
        break;
    case FLUSHING:
        was_flushed(outcome);
        break;
    case FALLING_ASLEEP:
        fell_asleep(outcome);
        break;
    case WAKING:
        woke(outcome);
        break;
    case RESTARTING:
        start_port();
        break;
    case ENDING:
        job = STOPPING;
        break;
    case STOPPING:
        stopped();
        break;
    default:
        finish_for_bus(was, outcome);
        break;
    }
}
