/* Driver of a High Definition Audio controller: plays one client's samples.
 *
 * Protocols: pci with the bus, audio with one client, timer. What the device is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for the client is `client`. A stream that a sleep or an error
 * of the bus has interrupted stands as one that ran empty: the client starts it again. */
#include "hda.h"

enum life { UNBOUND, RUNNING, SUSPENDED, FAILED };
enum client { CLOSED, RAW, READY, PLAYING, STALLED, GONE };

/* Reasons to refuse. */
enum { REASON_HARDWARE = 1, REASON_MEMORY = 2, REASON_NO_DEVICE = 3, REASON_UNABLE = 4 };

#define DIRECTION_PLAY 0u
#define CHANNELS 2u
/* Interrupts that a drain waits for: more than the ring has periods, as some may come for nothing. */
#define DRAIN_INTERRUPTS 256u

static enum client client;
static uint32_t format;

/* ---- the client ---- */

static void open_client(uint32_t has_device)
{
    if (has_device && MAIL(audio_open)->direction == DIRECTION_PLAY && dma_size(AUDIO_NUMBER) >= PAGE) {
        struct audio_open_ok body = {codec_rates, codec_formats, CHANNELS};
        client = RAW;
        EMIT(AUDIO_OPEN_OK, 0, &body);
    } else {
        struct audio_open_fail body = {has_device ? REASON_UNABLE : REASON_NO_DEVICE};
        EMIT(AUDIO_OPEN_FAIL, 0, &body);
    }
}

static void close_client(void)
{
    client = CLOSED;
    EMIT(AUDIO_CLOSE_OK);
}

static void configure(void)
{
    if (client == GONE) {
        return;
    }
    uint32_t new_format =
        format_of(MAIL(audio_configure)->rate, MAIL(audio_configure)->bits, MAIL(audio_configure)->channels);
    if (new_format != 0u &&
        set_ring(MAIL(audio_configure)->buffer, MAIL(audio_configure)->period, MAIL(audio_configure)->periods)) {
        format = new_format;
        set_format(format);
        client = READY;
        EMIT(AUDIO_CONFIGURE_OK);
    } else {
        struct audio_configure_fail body = {new_format != 0u ? REASON_MEMORY : REASON_UNABLE};
        client = RAW;
        EMIT(AUDIO_CONFIGURE_FAIL, 0, &body);
    }
}

static void start(void)
{
    if (client != GONE) {
        start_stream(format);
        client = PLAYING;
        EMIT(AUDIO_START_OK);
    }
}

static void stop(void)
{
    if (client != GONE) {
        stop_stream(1);
        rewind_stream();
        client = READY;
        EMIT(AUDIO_STOP_OK);
    }
}

/* The stream has stopped though the client has not said so; it starts it again. */
static void stall(void)
{
    if (client == PLAYING) {
        struct audio_underrun body = {stream_played};
        skip_stream();
        client = STALLED;
        EMIT(AUDIO_UNDERRUN, 0, &body);
    }
}

static void tell_period(void)
{
    struct audio_period body = {stream_played};
    EMIT(AUDIO_PERIOD, 0, &body);
}

/* The device has no deadline of its own: one period lasts less than a timer does at most. */
static void arm_timer(void)
{
    struct timer_arm body = {60000000000ul};
    EMIT(TIMER_ARM, 0, &body);
}

static void cancel_timer(void)
{
    EMIT(TIMER_CANCEL);
    while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) != TIMER_CANCELLED) {
    }
}

/* Returns 1 if a period or more were played since the last time, of which the client is told. */
static uint32_t take_period(void)
{
    uint32_t advances = stream_advances();

    if (advances) {
        tell_period();
    }
    return advances;
}

/* Plays what is in the ring to its end. The bus may cut it short: returns its message then, otherwise 0. So does the timer,
 * if the device plays nothing for as long. The client is told in all cases, and no other message of it is taken: it
 * waits. */
static uint32_t drain(void)
{
    uint32_t left = stream_is_empty() ? 0u : DRAIN_INTERRUPTS;
    uint32_t mailbox = 0;
    uint32_t is_armed = 0;

    if (client == GONE) {
        return 0;
    }
    if (client == STALLED && left != 0u) {
        start_stream(format);
    }
    while (left != 0u) {
        if (!is_armed) {
            arm_timer();
            is_armed = 1;
        }
        mailbox = AWAIT(PCI_IRQ, TIMER_FIRED, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR);
        if (mailbox == PCI_IRQ) {
            mailbox = 0;
            take_period();
            left = stream_is_empty() ? 0u : left - 1u;
            EMIT(PCI_IRQ_DONE);
        } else if (mailbox == TIMER_FIRED) {
            mailbox = 0;
            is_armed = 0;
            left = take_period() && !stream_is_empty() ? left - 1u : 0u;
        } else {
            break;
        }
    }
    if (is_armed) {
        cancel_timer();
    }
    stop_stream(mailbox != PCI_UNPLUG);
    rewind_stream();
    client = READY;
    EMIT(AUDIO_DRAIN_OK);
    return mailbox;
}

/* The device is lost to the client, for good. Touches no register. */
static void lose_device(void)
{
    if (client == RAW || client == READY || client == PLAYING || client == STALLED) {
        client = GONE;
        EMIT(AUDIO_GONE);
    }
}

/* ---- the bus ---- */

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
    uint32_t has_memory = dma_size(PCI_NUMBER) >= LIST_SIZE;
    if (!has_memory || !reset_controller() || !find_codec()) {
        struct pci_probe_fail body = {has_memory ? REASON_HARDWARE : REASON_MEMORY};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    wake_codec();
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_PROBE_OK);
    return RUNNING;
}

static enum life remove_device(void)
{
    stop_stream(client == PLAYING);
    sleep_codec();
    lose_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

static enum life suspend(void)
{
    stop_stream(client == PLAYING);
    stall();
    sleep_codec();
    disable_device();
    EMIT(PCI_SUSPEND_OK);
    return SUSPENDED;
}

static enum life resume(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!reset_controller()) {
        struct pci_resume_fail body = {REASON_HARDWARE};
        lose_device();
        EMIT(PCI_DISABLE);
        EMIT(PCI_RESUME_FAIL, 0, &body);
        return FAILED;
    }
    wake_codec();
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_RESUME_OK);
    return RUNNING;
}

static enum life recover(void)
{
    if (!reset_controller()) {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    wake_codec();
    stall();
    EMIT(PCI_RECOVERED);
    return RUNNING;
}

static void interrupt(void)
{
    if (client == PLAYING) {
        take_period();
        if (stream_is_empty()) {
            stop_stream(1);
            stall();
        }
    }
    EMIT(PCI_IRQ_DONE);
}

/* One message of the client while the device is there. */
static uint32_t serve_client(uint32_t mailbox)
{
    switch (mailbox) {
    case AUDIO_OPEN:
        open_client(1);
        break;
    case AUDIO_CLOSE:
        close_client();
        break;
    case AUDIO_CONFIGURE:
        configure();
        break;
    case AUDIO_START:
        start();
        break;
    case AUDIO_FILLED:
        fill_stream(MAIL(audio_filled)->position);
        break;
    case AUDIO_STOP:
        stop();
        break;
    case AUDIO_DRAIN:
        return drain();
    case AUDIO_SET_VOLUME:
        set_volume(MAIL(audio_set_volume)->left, MAIL(audio_set_volume)->right, 1);
        break;
    default:
        break;
    }
    return 0;
}

/* ... and while it is not: a client that has opened it has lost it. */
static void turn_away(uint32_t mailbox)
{
    switch (mailbox) {
    case AUDIO_OPEN:
        open_client(0);
        break;
    case AUDIO_CLOSE:
        close_client();
        break;
    case AUDIO_SET_VOLUME:
        set_volume(MAIL(audio_set_volume)->left, MAIL(audio_set_volume)->right, 0);
        break;
    default:
        break;
    }
}

static enum life unbound(void)
{
    uint32_t mailbox = AWAIT(PCI_PROBE, PCI_UNPLUG, AUDIO_OPEN, AUDIO_CLOSE, AUDIO_CONFIGURE, AUDIO_START, AUDIO_FILLED,
                             AUDIO_STOP, AUDIO_DRAIN, AUDIO_SET_VOLUME);

    if (mailbox == PCI_PROBE) {
        return probe();
    }
    turn_away(mailbox);
    return UNBOUND;
}

static enum life running(void)
{
    uint32_t mailbox = AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, AUDIO_OPEN, AUDIO_CLOSE,
                             AUDIO_CONFIGURE, AUDIO_START, AUDIO_FILLED, AUDIO_STOP, AUDIO_DRAIN, AUDIO_SET_VOLUME);

    if (mailbox >= AUDIO_OPEN) {
        mailbox = serve_client(mailbox);
    }
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
    uint32_t mailbox = AWAIT(PCI_REMOVE, PCI_UNPLUG, AUDIO_OPEN, AUDIO_CLOSE, AUDIO_CONFIGURE, AUDIO_START,
                             AUDIO_FILLED, AUDIO_STOP, AUDIO_DRAIN, AUDIO_SET_VOLUME);

    if (mailbox == PCI_UNPLUG) {
        return unplug();
    }
    if (mailbox == PCI_REMOVE) {
        EMIT(PCI_REMOVE_OK);
        return UNBOUND;
    }
    turn_away(mailbox);
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

const struct protocol *const driver_protocols[] = {&pci_protocol, &audio_protocol, &timer_protocol, 0};
