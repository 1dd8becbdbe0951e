/* Records through an audio driver, frames of two samples of 16 bits, and looks at each: as numbers of 32 bits they count up, as the
 * file does that the emulator records from. The ring holds other values before, so a frame that the device did not write is seen.
 *
 * Arguments: `sound`, the driver; `ms` to record (default 2000), `rounds` (default 1); `late`, 1: of the first round nothing is taken
 * until the ring is full; `refused`, 1: nothing is recorded, it asks for either direction, and must be refused. A round that breaks
 * off, because the device was lost or the driver ended, is begun again. */
#include "../apps/sound.h"

#define UNWRITTEN 0xfeedf00du
#define REASON_UNABLE 4u

static uint64_t taken;    /* bytes of the round */
static uint32_t first;    /* frame of the round */
static uint32_t last;     /* frame */
static uint32_t has_last; /* one must follow on it */
static uint32_t wrong;    /* frames */
static uint32_t is_late;
static uint32_t asks_to_be_refused;

static uint32_t *frame_at(uint64_t position)
{
    return (uint32_t *)(sound.ring + position % RING);
}

static void start(void)
{
    for (uint64_t position = 0; position < RING; position += FRAME) {
        *frame_at(position) = UNWRITTEN;
    }
    has_last = 0;
    start_stream();
}

static void begin(void)
{
    taken = 0;
    wrong = 0;
    start();
}

/* One frame was recorded. */
static void look_at(uint32_t frame)
{
    if (taken == 0) {
        first = frame;
    }
    if (frame == UNWRITTEN || (has_last && frame != last + 1u)) {
        wrong++;
        if (wrong < 4) {
            print("RECORD wrong frame %x behind %x, byte %lu\n", frame, last, taken);
        }
    }
    last = frame;
    has_last = 1;
}

static void take(uint64_t position)
{
    struct audio_filled body = {position};

    while (taken < position) {
        uint32_t *frame = frame_at(taken);
        look_at(*frame);
        *frame = UNWRITTEN;
        taken += FRAME;
    }
    emit(AUDIO_FILLED, &body, sizeof body);
    if (taken >= sound.total && sound.state == RUNNING) {
        end_stream(AUDIO_STOP);
    }
}

/* The ring is full: the device may have begun to write over its first period. */
static void take_full_ring(uint64_t position)
{
    print("RECORD full after %lu bytes\n", position);
    is_late = 0;
    taken = position < RING - PERIOD ? 0 : position - (RING - PERIOD);
    take(position);
    print("RECORD %u wrong frames in a full ring\n", wrong);
}

/* The stream has stopped at `position`, because this process was late or the device slept: on from there. */
static void go_on(uint64_t position)
{
    if (is_late) {
        take_full_ring(position);
    } else {
        sound.stops++;
        print("RECORD stopped after %lu bytes\n", position);
        take(position);
    }
    if (sound.state == RUNNING) {
        start();
    }
}

/* Asks for the other direction next. */
static void be_refused(uint32_t reason)
{
    if (reason == REASON_UNABLE) {
        print("RECORD refused direction %u: reason %u\n", sound.direction, reason);
        sound.direction = sound.direction == PLAY ? RECORD : PLAY;
    }
    open_stream_later();
}

static void receive(uint32_t mailbox)
{
    const void *payload = domain_current->payload;

    if (asks_to_be_refused && mailbox == AUDIO_OPEN_OK) {
        emit(AUDIO_CLOSE, 0, 0);
        return;
    }
    if (asks_to_be_refused && mailbox == AUDIO_OPEN_FAIL) {
        be_refused(((const struct audio_open_fail *)payload)->reason);
        return;
    }
    switch (mailbox) {
    case AUDIO_START_OK:
        sound.state = RUNNING;
        print("RECORD goes on at byte %lu\n", taken);
        break;
    case AUDIO_PERIOD:
        if (!is_late) {
            take(((const struct audio_period *)payload)->position);
        }
        break;
    case AUDIO_UNDERRUN:
        go_on(((const struct audio_underrun *)payload)->position);
        break;
    default:
        sound_receive(mailbox);
        break;
    }
}

static void record_round(void)
{
    uint64_t begun = sys_clock();

    sound.stops = 0;
    if (sound.state == CONFIGURED) {
        begin();
    }
    do {
        receive(sound_await());
    } while (sound.state != CONFIGURED);
    print("RECORD %lu frames from %u in %lu ms, %u wrong, stopped %u times, driver lost %u times\n", taken / FRAME,
          first, (sys_clock() - begun) / 1000000, wrong, sound.stops, sound.deaths);
}

int main(void)
{
    is_late = (uint32_t)env_arg_u64("late", 0);
    asks_to_be_refused = (uint32_t)env_arg_u64("refused", 0);
    sound.name = "RECORD";
    sound.direction = RECORD;
    sound.rate = 48000;
    sound_connect();
    for (uint64_t round = 0; round < env_arg_u64("rounds", 1); round++) {
        record_round();
    }
    print("RECORD done\n");
    for (;;) {
        receive(sound_await());
    }
}
