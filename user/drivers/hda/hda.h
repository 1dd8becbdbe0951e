/* What the parts of the driver know of each other. */
#ifndef HDA_H
#define HDA_H

#include "ashlar/clients.h"
#include "ashlar/pci_registers.h"
#include "audio_protocol.h"
#include "pci_protocol.h"
#include "timer_protocol.h"
#include "registers.h"

#define PAGE 4096u
#define CLIENTS 2u /* one plays, one records */

/* Of `open`. */
enum { PLAY, RECORD };
#define DIRECTIONS 2u

/* The lists of fragments, one for each direction, stand at the beginning of the area of the link to the bus. */
#define LIST_SIZE (NUM_FRAGMENT * (uint32_t)sizeof(struct fragment))
/* By which the codec knows a stream's samples. */
#define STREAM_TAG(direction) ((direction) + 1u)

/* ---- controller.c: reset, commands ---- */
/* Returns 1 if the controller has come out of its reset, and a codec has reported. Every stream has stopped then, and
 * nothing interrupts. */
uint32_t reset_controller(void);

/* Sends a command, verb and parameter, to a node of the codec and returns the answer; 0 if none comes. */
uint32_t ask(uint32_t node, uint32_t command);

/* ---- codec.c: converters of samples, and the pins that they are connected to ---- */
/* What the codec can do in a direction: rates and formats, a bit each. No rates: it cannot do it at all. */
struct path {
    uint32_t converter; /* nodes; 0: there is none */
    uint32_t pin;
    uint32_t power;  /* what SET_EAPD is told: of an amplifier behind the pin */
    uint32_t steps;  /* of the converter's amplifier; 0: it has none */
    uint32_t volume; /* left << 8 | right, each 0 to 127 */
    uint32_t format; /* of samples, as the converter is told */
    uint32_t rates;
    uint32_t formats;
};
/* By direction. The checker takes an array of CLIENTS elements for one by client, so this is longer. */
#define PATHS 4u
extern struct path path[PATHS];

/* Looks for a converter and a pin in each direction. Returns 1 if there are such in any. */
uint32_t find_codec(void);

/* The codec is on and set as the clients wanted it: after a reset, or a sleep. */
void wake_codec(void);
void sleep_codec(void);

/* Formats of samples: as the codec is told, 0 if it cannot be. */
#define FORMAT_VALID 0x10000u
uint32_t format_of(uint32_t direction, uint32_t rate, uint32_t bits, uint32_t channels);
void set_format(uint32_t direction, uint32_t format);

/* Volumes are 0 to 127. With `is_on` the codec is told now, otherwise when it wakes. */
void set_volume(uint32_t direction, uint32_t left, uint32_t right, uint32_t is_on);

/* ---- stream.c: a client's ring of samples, and how far the device has come in it ---- */
enum stream_state { CLOSED, RAW, READY, RUNNING, DRAINING, STALLED, GONE };

struct stream {
    enum stream_state state; /* what the device is doing for the client */
    uint32_t direction;
    uint32_t format;
    uint32_t number;     /* of the device's streams */
    uint32_t buffer;     /* in the client's area */
    uint32_t period;     /* bytes */
    uint32_t size;       /* of the ring */
    uint32_t place;      /* where the device has come to */
    uint32_t list_place; /* the same, from the beginning of the list */
    uint32_t left;       /* bytes behind it that the device may go through: samples to play, or room to record */
    uint64_t position;   /* bytes since the stream was begun */
};

/* Whether the controller has a stream of this direction. */
uint32_t has_stream(uint32_t direction);

/* All these are for the client whose turn it is. */

/* a times b, for a small b. It adds because of the checker, which takes a product of two variables for any number where there are
 * several clients, as its solver would need minutes: what goes wrong behind one it could only call doubtful. */
uint64_t times(uint32_t a, uint32_t b);

/* Describes a ring in the client's memory. Returns 1 if it can be played from, or recorded into. */
uint32_t set_ring(struct stream *s, uint32_t buffer, uint32_t period, uint32_t periods);

/* Goes on from where it was stopped, or from the beginning. */
void start_stream(struct stream *s);

/* Whether the stream's interrupt has come: then its position has gone on, and what was played is silence now. */
uint32_t stream_advances(struct stream *s);

/* Stops it, touching the device only if it is on. What is in the ring stays, from the period on that was under way. */
void stop_stream(struct stream *s, uint32_t is_on);

/* A new stream: nothing was played, filled or recorded. */
void rewind_stream(struct stream *s);

/* The client says that the ring holds samples to be played up to `position`, or that it has taken those recorded up to there. */
void fill_stream(struct stream *s, uint64_t position);

/* Nothing is left in the ring to be played, or no room for another period. */
uint32_t stream_is_over(const struct stream *s);

/* What is left in the ring is not played. */
void skip_stream(struct stream *s);

#endif
