/* Plays a tone of a known frequency through an audio driver: a sine wave, samples of 16 bits, both channels alike.
 *
 * Arguments: `sound`, the driver; `hertz` of the tone (default 440), `rate` of samples (default 48000), `ms` to play (default 2000),
 * `rounds` (default 1). A round that breaks off, because the device was lost or the driver ended, is begun again. */
#include "sound.h"

#define AMPLITUDE 12000

static uint32_t hertz;
static uint64_t filled; /* bytes of the round */
static uint64_t played;

/* The sine of a frame, by Bhaskara's approximation, which is off by less than 0.2 percent. */
static int16_t sine(uint64_t frame)
{
    const int64_t half = 32768;
    int64_t phase = (int64_t)(frame * hertz % sound.rate * 65536 / sound.rate);
    int64_t x = phase % half;
    int64_t p = x * (half - x);
    int64_t value = AMPLITUDE * 4 * p / (half * half / 4 * 5 - p);
    return (int16_t)(phase < half ? value : -value);
}

static void fill(void)
{
    uint64_t before = filled;

    while (filled < sound.total && filled < played + RING) {
        int16_t *frame = (int16_t *)(sound.ring + filled % RING);
        frame[0] = sine(filled / FRAME);
        frame[1] = frame[0];
        filled += FRAME;
    }
    if (filled != before) {
        struct audio_filled body = {filled};
        emit(AUDIO_FILLED, &body, sizeof body);
    }
}

/* Once the whole tone is in the ring, the driver plays it to its end. */
static void drain_if_full(void)
{
    if (filled == sound.total && sound.state == RUNNING) {
        end_stream(AUDIO_DRAIN);
    }
}

static void begin(void)
{
    static const struct audio_set_volume loud = {127, 127};

    filled = 0;
    played = 0;
    memset(sound.ring, 0, RING);
    emit(AUDIO_SET_VOLUME, &loud, sizeof loud);
    fill();
    start_stream();
}

/* The stream has stopped at `position`, because this process was late or the device slept: on from there. */
static void go_on(uint64_t position)
{
    sound.stops++;
    print("TONE stopped after %lu bytes\n", position);
    if (sound.state == RUNNING) {
        played = position;
        filled = position < sound.total ? position : sound.total;
        fill();
        start_stream();
    }
}

static void receive(uint32_t mailbox)
{
    const void *payload = domain_current->payload;

    switch (mailbox) {
    case AUDIO_START_OK:
        sound.state = RUNNING;
        print("TONE plays from byte %lu\n", played);
        drain_if_full();
        break;
    case AUDIO_PERIOD:
        played = ((const struct audio_period *)payload)->position;
        fill();
        drain_if_full();
        break;
    case AUDIO_UNDERRUN:
        go_on(((const struct audio_underrun *)payload)->position);
        break;
    default:
        sound_receive(mailbox);
        break;
    }
}

static void play_round(void)
{
    uint64_t begun = sys_clock();

    sound.stops = 0;
    if (sound.state == CONFIGURED) {
        begin();
    }
    do {
        receive(sound_await());
    } while (sound.state != CONFIGURED);
    print("TONE %u Hz, %lu frames played in %lu ms, stopped %u times, driver lost %u times\n", hertz, filled / FRAME,
          (sys_clock() - begun) / 1000000, sound.stops, sound.deaths);
}

int main(void)
{
    hertz = (uint32_t)env_arg_u64("hertz", 440);
    sound.name = "TONE";
    sound.direction = PLAY;
    sound.rate = (uint32_t)env_arg_u64("rate", 48000);
    sound_connect();
    for (uint64_t round = 0; round < env_arg_u64("rounds", 1); round++) {
        play_round();
    }
    print("TONE done\n");
    for (;;) {
        receive(sound_await());
    }
}
