/* What a program that plays and one that records have in common: the ring of samples, the link to the audio driver, and the messages
 * that both treat alike. The file that includes this says in `sound` what it wants, and in begin() how a round begins. */
#ifndef SOUND_H
#define SOUND_H

#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "audio_protocol.h"

#define PORT AUDIO_NUMBER
#define LINK_CAPACITY 64u /* messages */
#define PERIOD 8192u      /* bytes */
#define PERIODS 16u
#define RING (PERIOD * PERIODS)
#define FRAME 4u         /* bytes: a sample of 16 bits for each of two channels */
#define RETRY 10000000ul /* ns until a driver that has refused is asked again */

enum { PLAY, RECORD }; /* the direction of `open` */

/* Of a round. It is over when it is CONFIGURED again. */
enum sound_state { LOST, CONFIGURED, STARTING, RUNNING, ENDING };

struct sound {
    const char *name; /* its lines begin with it */
    uint32_t direction;
    uint32_t rate;
    uint64_t total; /* bytes of a round */
    uint8_t *ring;
    enum sound_state state;
    uint32_t stops;  /* of the stream, not asked for, in this round */
    uint32_t deaths; /* of the driver */
    struct mail_set everything;
};
static struct sound sound;

/* A round begins, or begins again: the stream is configured, and nothing is in the ring. */
static void begin(void);

static inline void emit(uint32_t mailbox, const void *payload, size_t bytes)
{
    void *place = domain_emit_begin(mailbox, 0);
    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, 0);
}

static inline void open_stream(void)
{
    struct audio_open body = {(uint8_t)sound.direction};
    uint64_t bytes = 0;

    sound.ring = domain_data(PORT, &bytes);
    emit(AUDIO_OPEN, &body, sizeof body);
}

static inline void open_stream_later(void)
{
    sys_sleep(sys_clock() + RETRY);
    open_stream();
}

static inline void start_stream(void)
{
    sound.state = STARTING;
    emit(AUDIO_START, 0, 0);
}

/* The round ends by this message. */
static inline void end_stream(uint32_t mailbox)
{
    sound.state = ENDING;
    emit(mailbox, 0, 0);
}

static inline void lose(const char *what)
{
    print("%s lost the %s\n", sound.name, what);
    sound.state = LOST;
}

/* A message that playing and recording treat alike. */
static inline void sound_receive(uint32_t mailbox)
{
    const struct audio_configure wanted = {sound.rate, 16, 2, 0, PERIOD, PERIODS};

    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
    case AUDIO_CLOSE_OK:
        open_stream();
        break;
    case AT(PORT, MAIL_LINK_LOST):
        sound.deaths++;
        lose("driver");
        break;
    case AUDIO_OPEN_OK:
        emit(AUDIO_CONFIGURE, &wanted, sizeof wanted);
        break;
    case AUDIO_OPEN_FAIL: /* it has no device yet */
        open_stream_later();
        break;
    case AUDIO_CONFIGURE_OK:
        begin();
        break;
    case AUDIO_CONFIGURE_FAIL:
        panic("%s: 16 bits at %u Hz are refused: reason %u\n", sound.name, sound.rate,
              ((const struct audio_configure_fail *)domain_current->payload)->reason);
    case AUDIO_STOP_OK:
    case AUDIO_DRAIN_OK:
        sound.state = CONFIGURED;
        break;
    case AUDIO_GONE:
        lose("device");
        emit(AUDIO_CLOSE, 0, 0);
        break;
    default:
        break;
    }
}

/* Waits for the next message and returns its mailbox. */
static inline uint32_t sound_await(void)
{
    return domain_await(&sound.everything, DEADLINE_NEVER);
}

/* Reads the arguments that both programs have, and connects to the driver. */
static inline void sound_connect(void)
{
    char driver[32];

    if (env_arg("sound", driver, sizeof driver) < 0) {
        panic("the description gives this process no sound\n");
    }
    sound.total = env_arg_u64("ms", 2000) * sound.rate / 1000 * FRAME;
    sound.everything.mask[PORT] = ~0ul;
    domain_start();
    domain_connect(PORT, driver, &audio_protocol, LINK_CAPACITY, RING / 4096u);
}

#endif
