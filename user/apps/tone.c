/* Plays a tone of a known frequency through an audio driver: a sine wave, samples of 16 bits, both channels alike.
 *
 * Arguments: `driver`; `hertz` of the tone (default 440), `rate` of samples (default 48000), `ms` to play (default 2000),
 * `rounds` (default 1). A round that breaks off, because the device was lost or the driver ended, is begun again. */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "audio_protocol.h"

#define PORT AUDIO_NUMBER
#define RING_CAPACITY 64u /* messages */
#define PERIOD 8192u      /* bytes */
#define PERIODS 16u
#define RING (PERIOD * PERIODS)
#define FRAME 4u /* bytes: a sample for each channel */
#define AMPLITUDE 12000

enum state { LOST, CONFIGURED, STARTING, PLAYING, DRAINING };

static enum state state;
static uint8_t *data; /* the ring of samples */
static struct mail_set everything;
static uint32_t hertz;
static uint32_t rate;
static uint64_t total; /* bytes of a round */
static uint64_t filled;
static uint64_t played;
static uint32_t stops;  /* of the stream, not asked for */
static uint32_t deaths; /* of the driver */

static void emit(uint32_t mailbox, const void *payload, size_t bytes)
{
    void *place = domain_emit_begin(mailbox, 0);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, 0);
}

/* The sine of a frame, by Bhaskara's approximation, which is off by less than 0.2 percent. */
static int16_t sine(uint64_t frame)
{
    const int64_t half = 32768;
    int64_t phase = (int64_t)(frame * hertz % rate * 65536 / rate);
    int64_t x = phase % half;
    int64_t p = x * (half - x);
    int64_t value = AMPLITUDE * 4 * p / (half * half / 4 * 5 - p);
    return (int16_t)(phase < half ? value : -value);
}

static void fill(void)
{
    uint64_t before = filled;

    while (filled < total && filled < played + RING) {
        int16_t *frame = (int16_t *)(data + filled % RING);
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
    if (filled == total && state == PLAYING) {
        state = DRAINING;
        emit(AUDIO_DRAIN, 0, 0);
    }
}

static void open_stream(void)
{
    static const struct audio_open play;
    uint64_t bytes = 0;

    data = domain_data(PORT, &bytes);
    emit(AUDIO_OPEN, &play, sizeof play);
}

static void configure(void)
{
    struct audio_configure body = {rate, 16, 2, 0, PERIOD, PERIODS};
    emit(AUDIO_CONFIGURE, &body, sizeof body);
}

static void begin(void)
{
    static const struct audio_set_volume loud = {127, 127};

    filled = 0;
    played = 0;
    memset(data, 0, RING);
    emit(AUDIO_SET_VOLUME, &loud, sizeof loud);
    fill();
    state = STARTING;
    emit(AUDIO_START, 0, 0);
}

/* The stream has stopped at `position`, because this process was late or the device slept: on from there. */
static void go_on(uint64_t position)
{
    stops++;
    print("TONE stopped after %lu bytes\n", position);
    if (state == PLAYING) {
        played = position;
        filled = position < total ? position : total;
        fill();
        state = STARTING;
        emit(AUDIO_START, 0, 0);
    }
}

static void lose(const char *what)
{
    print("TONE lost the %s\n", what);
    state = LOST;
}

static void receive(uint32_t mailbox)
{
    const void *payload = domain_current->payload;

    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
    case AUDIO_CLOSE_OK:
        open_stream();
        break;
    case AT(PORT, MAIL_LINK_LOST):
        deaths++;
        lose("driver");
        break;
    case AUDIO_OPEN_OK:
        configure();
        break;
    case AUDIO_OPEN_FAIL:
        /* The driver has no device yet: ask again, not too often. */
        sys_sleep(sys_clock() + 10000000);
        open_stream();
        break;
    case AUDIO_CONFIGURE_OK:
        begin();
        break;
    case AUDIO_CONFIGURE_FAIL:
        panic("16 bits at %u Hz are not played: reason %u\n", rate,
              ((const struct audio_configure_fail *)payload)->reason);
    case AUDIO_START_OK:
        state = PLAYING;
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
    case AUDIO_DRAIN_OK:
        state = CONFIGURED;
        break;
    case AUDIO_GONE:
        lose("device");
        emit(AUDIO_CLOSE, 0, 0);
        break;
    default:
        break;
    }
}

static void play_round(void)
{
    uint64_t begun = sys_clock();

    stops = 0;
    if (state == CONFIGURED) {
        begin();
    }
    do {
        receive(domain_await(&everything, DEADLINE_NEVER));
    } while (state != CONFIGURED);
    print("TONE %u Hz, %lu frames played in %lu ms, stopped %u times, driver lost %u times\n", hertz, filled / FRAME,
          (sys_clock() - begun) / 1000000, stops, deaths);
}

int main(void)
{
    char driver[32];

    if (env_arg("driver", driver, sizeof driver) < 0) {
        panic("argument driver is missing\n");
    }
    hertz = (uint32_t)env_arg_u64("hertz", 440);
    rate = (uint32_t)env_arg_u64("rate", 48000);
    total = env_arg_u64("ms", 2000) * rate / 1000 * FRAME;
    everything.mask[PORT] = ~0ul;
    domain_start();
    domain_connect(PORT, driver, &audio_protocol, RING_CAPACITY, RING / 4096u);
    for (uint64_t round = 0; round < env_arg_u64("rounds", 1); round++) {
        play_round();
    }
    print("TONE done\n");
    for (;;) {
        receive(domain_await(&everything, DEADLINE_NEVER));
    }
}
