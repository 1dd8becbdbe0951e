/* Driver of a High Definition Audio controller: plays one client's samples, and records for another.
 *
 * Protocols: pci with the bus, audio with each client, timer. What the device is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for a client is the state of that client's stream. A stream that a
 * sleep or an error of the bus has interrupted stands as one that has ended by itself: the client starts it again. */
#include "hda.h"

enum life { UNBOUND, SERVING, SUSPENDED, FAILED };

/* Reasons to refuse. */
enum { REASON_HARDWARE = 1, REASON_MEMORY = 2, REASON_NO_DEVICE = 3, REASON_UNABLE = 4 };

#define CHANNELS 2u
#define NO_CLIENT CLIENTS
/* A drain is over by then, whatever the device does: no ring that can be configured takes as long. */
#define DRAIN_TIME 60000000000ul /* ns */
#define RING_SECONDS 50u

static struct stream stream[CLIENTS];
static uint32_t opened;              /* a bit for each direction */
static uint32_t drainer = NO_CLIENT; /* the client whose ring plays to its end: the timer is armed for it */

/* ---- clients: each function is for the one whose turn it is, and its stream ---- */

static uint32_t can_open(uint32_t direction)
{
    return path[direction & (PATHS - 1u)].rates != 0u && has_stream(direction) &&
           (opened >> (direction & 1u) & 1u) == 0u && dma_size(AUDIO_NUMBER) >= PAGE;
}

static void open_client(struct stream *s, uint32_t has_device)
{
    uint32_t direction = MAIL(audio_open)->direction;

    if (has_device && can_open(direction)) {
        const struct path *p = &path[direction & (PATHS - 1u)];
        struct audio_open_ok body = {p->rates, p->formats, CHANNELS};
        opened = opened | 1u << (direction & 1u);
        s->direction = direction;
        s->state = RAW;
        EMIT(AUDIO_OPEN_OK, 0, &body);
    } else {
        struct audio_open_fail body = {has_device ? REASON_UNABLE : REASON_NO_DEVICE};
        EMIT(AUDIO_OPEN_FAIL, 0, &body);
    }
}

static void close_client(struct stream *s)
{
    opened = opened & ~(1u << (s->direction & 1u));
    s->state = CLOSED;
    EMIT(AUDIO_CLOSE_OK);
}

/* Whether the ring is short enough that a drain ends in time. Requires: one channel or two. */
static uint32_t is_short(uint32_t rate, uint32_t bits, uint32_t channels, uint32_t period, uint32_t periods)
{
    uint32_t shift = (channels - 1u) + (bits <= 8u ? 0u : bits <= 16u ? 1u : 2u);

    return times(period, periods) <= (uint64_t)rate * RING_SECONDS << (shift & 3u);
}

static void configure(struct stream *s)
{
    if (s->state == GONE) {
        return;
    }
    uint32_t rate = MAIL(audio_configure)->rate;
    uint32_t bits = MAIL(audio_configure)->bits;
    uint32_t channels = MAIL(audio_configure)->channels;
    uint32_t period = MAIL(audio_configure)->period;
    uint32_t periods = MAIL(audio_configure)->periods;
    uint32_t format = format_of(s->direction, rate, bits, channels);

    if (format != 0u && is_short(rate, bits, channels, period, periods) &&
        set_ring(s, MAIL(audio_configure)->buffer, period, periods)) {
        s->format = format;
        set_format(s->direction, format);
        s->state = READY;
        EMIT(AUDIO_CONFIGURE_OK);
    } else {
        struct audio_configure_fail body = {format != 0u ? REASON_MEMORY : REASON_UNABLE};
        s->state = RAW;
        EMIT(AUDIO_CONFIGURE_FAIL, 0, &body);
    }
}

static void start(struct stream *s)
{
    if (s->state != GONE) {
        start_stream(s);
        s->state = RUNNING;
        EMIT(AUDIO_START_OK);
    }
}

static void stop(struct stream *s)
{
    if (s->state != GONE) {
        stop_stream(s, 1);
        rewind_stream(s);
        s->state = READY;
        EMIT(AUDIO_STOP_OK);
    }
}

/* The stream has stopped though the client has not said so; it starts it again. */
static void stall(struct stream *s)
{
    if (s->state == RUNNING) {
        struct audio_underrun body = {s->position};
        skip_stream(s);
        s->state = STALLED;
        EMIT(AUDIO_UNDERRUN, 0, &body);
    }
}

static void arm_timer(void)
{
    struct timer_arm body = {DRAIN_TIME};
    EMIT(TIMER_ARM, 0, &body);
}

/* No client has its turn behind it. */
static void cancel_timer(void)
{
    EMIT(TIMER_CANCEL);
    while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) != TIMER_CANCELLED) {
    }
}

/* Tells the client if a period or more were played or recorded since the last time. */
static void take_period(struct stream *s)
{
    if (stream_advances(s)) {
        struct audio_period body = {s->position};
        EMIT(AUDIO_PERIOD, 0, &body);
    }
}

static void answer_drain(struct stream *s, uint32_t is_on)
{
    stop_stream(s, is_on);
    rewind_stream(s);
    s->state = READY;
    EMIT(AUDIO_DRAIN_OK);
}

/* The ring plays to its end: until it is empty, or the timer or the bus cuts it short. The client is told in all cases. What is
 * recorded the client has been told of already. */
static void drain(struct stream *s)
{
    if (s->state == GONE) {
        return;
    }
    if (s->direction == RECORD || stream_is_over(s) || drainer != NO_CLIENT) {
        answer_drain(s, 1);
        return;
    }
    if (s->state == STALLED) {
        start_stream(s);
    }
    s->state = DRAINING;
    drainer = CLIENT();
    arm_timer();
}

/* The drain under way is over. No client has its turn behind it. */
static void end_drain(struct stream *s, uint32_t is_on)
{
    drainer = NO_CLIENT;
    answer_drain(s, is_on);
    cancel_timer();
}

static void end_late_drain(void)
{
    if (drainer < CLIENTS) {
        uint32_t client = drainer;
        TURN_TO(client);
        drainer = NO_CLIENT;
        answer_drain(&stream[client], 1);
    }
}

/* The stream's device is about to stop, or has. */
static void halt(struct stream *s, uint32_t is_on)
{
    if (drainer == CLIENT()) {
        end_drain(s, is_on);
    } else if (s->state == RUNNING) {
        stop_stream(s, is_on);
    }
}

/* The device is lost to the client, for good. Touches no register. */
static void lose(struct stream *s)
{
    if (s->state == RAW || s->state == READY || s->state == RUNNING || s->state == STALLED) {
        s->state = GONE;
        EMIT(AUDIO_GONE);
    }
}

/* ---- all clients ---- */

static void halt_streams(uint32_t is_on)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        halt(&stream[i], is_on);
    }
}

static void stall_streams(void)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        stall(&stream[i]);
    }
}

static void lose_device(void)
{
    halt_streams(0);
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        lose(&stream[i]);
    }
}

static void serve_stream(struct stream *s)
{
    if (s->state != RUNNING && s->state != DRAINING) {
        return;
    }
    take_period(s);
    if (!stream_is_over(s)) {
        return;
    }
    if (drainer == CLIENT()) {
        end_drain(s, 1);
    } else {
        stop_stream(s, 1);
        stall(s);
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
    uint32_t has_memory = dma_size(PCI_NUMBER) >= DIRECTIONS * LIST_SIZE;
    if (!has_memory || !reset_controller() || !find_codec()) {
        struct pci_probe_fail body = {has_memory ? REASON_HARDWARE : REASON_MEMORY};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    wake_codec();
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_PROBE_OK);
    return SERVING;
}

static enum life remove_device(void)
{
    halt_streams(1);
    sleep_codec();
    lose_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

static enum life suspend(void)
{
    halt_streams(1);
    stall_streams();
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
    return SERVING;
}

static enum life recover(void)
{
    if (!reset_controller()) {
        lose_device();
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    halt_streams(0);
    stall_streams();
    wake_codec();
    EMIT(PCI_RECOVERED);
    return SERVING;
}

static void interrupt(void)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        TURN_TO(i);
        serve_stream(&stream[i]);
    }
    EMIT(PCI_IRQ_DONE);
}

/* One message of a client while the device is there. */
static void serve_client(struct stream *s, uint32_t mailbox)
{
    switch (mailbox) {
    case AUDIO_OPEN:
        open_client(s, 1);
        break;
    case AUDIO_CLOSE:
        close_client(s);
        break;
    case AUDIO_CONFIGURE:
        configure(s);
        break;
    case AUDIO_START:
        start(s);
        break;
    case AUDIO_FILLED:
        fill_stream(s, MAIL(audio_filled)->position);
        break;
    case AUDIO_STOP:
        stop(s);
        break;
    case AUDIO_DRAIN:
        drain(s);
        break;
    case AUDIO_SET_VOLUME:
        set_volume(s->direction, MAIL(audio_set_volume)->left, MAIL(audio_set_volume)->right, 1);
        break;
    default:
        break;
    }
}

/* ... and while it is not: a client that has opened it has lost it. */
static void turn_away(struct stream *s, uint32_t mailbox)
{
    switch (mailbox) {
    case AUDIO_OPEN:
        open_client(s, 0);
        break;
    case AUDIO_CLOSE:
        close_client(s);
        break;
    case AUDIO_SET_VOLUME:
        set_volume(s->direction, MAIL(audio_set_volume)->left, MAIL(audio_set_volume)->right, 0);
        break;
    default:
        break;
    }
}

static enum life unbound(void)
{
    uint32_t mailbox = AWAIT(PCI_PROBE, PCI_UNPLUG, AUDIO_OPEN, AUDIO_CLOSE, AUDIO_CONFIGURE, AUDIO_START, AUDIO_FILLED,
                             AUDIO_STOP, AUDIO_DRAIN, AUDIO_SET_VOLUME);

    switch (mailbox) {
    case PCI_PROBE:
        return probe();
    case PCI_UNPLUG:
        return UNBOUND;
    default:
        turn_away(&stream[CLIENT()], mailbox);
        return UNBOUND;
    }
}

static enum life running(void)
{
    uint32_t mailbox =
        AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, TIMER_FIRED, AUDIO_OPEN, AUDIO_CLOSE,
              AUDIO_CONFIGURE, AUDIO_START, AUDIO_FILLED, AUDIO_STOP, AUDIO_DRAIN, AUDIO_SET_VOLUME);

    switch (mailbox) {
    case PCI_IRQ:
        interrupt();
        return SERVING;
    case PCI_UNPLUG:
        return unplug();
    case PCI_REMOVE:
        return remove_device();
    case PCI_SUSPEND:
        return suspend();
    case PCI_BUS_ERROR:
        return recover();
    case TIMER_FIRED:
        end_late_drain();
        return SERVING;
    default:
        serve_client(&stream[CLIENT()], mailbox);
        return SERVING;
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
    turn_away(&stream[CLIENT()], mailbox);
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
        case SERVING:
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
const struct driver_clients driver_clients = {AUDIO_NUMBER, CLIENTS, 0};
