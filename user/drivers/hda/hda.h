/* What the parts of the driver know of each other. */
#ifndef HDA_H
#define HDA_H

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "audio_protocol.h"
#include "pci_protocol.h"
#include "timer_protocol.h"
#include "registers.h"

#define PAGE 4096u
#define STREAM_TAG 1u /* by which the codec knows the stream's samples */
/* The list of fragments stands at the beginning of the area of the link to the bus. */
#define LIST_SIZE (NUM_FRAGMENT * (uint32_t)sizeof(struct fragment))

/* ---- controller.c: reset, commands ---- */
/* Returns 1 if the controller has come out of its reset, and a codec has reported. Every stream has stopped then, and
 * nothing interrupts. */
uint32_t reset_controller(void);

/* Sends a command, verb and parameter, to a node of the codec and returns the answer; 0 if none comes. */
uint32_t ask(uint32_t node, uint32_t command);

/* ---- codec.c: from a converter of samples to a pin ---- */
extern uint32_t codec_rates; /* it can play, a bit each */
extern uint32_t codec_formats;

/* Looks for a pin that plays, and the converter behind it. Returns 1 if there are such. */
uint32_t find_codec(void);

/* The codec is on and set as the client wanted it: after a reset, or a sleep. */
void wake_codec(void);
void sleep_codec(void);

/* Formats of samples: as the codec is told, 0 if it cannot be. */
#define FORMAT_VALID 0x10000u
uint32_t format_of(uint32_t rate, uint32_t bits, uint32_t channels);
void set_format(uint32_t format);

/* Volumes are 0 to 127. With `is_on` the codec is told now, otherwise when it wakes. */
void set_volume(uint32_t left, uint32_t right, uint32_t is_on);

/* ---- stream.c: the ring of samples, and how far it was played ---- */
extern uint64_t stream_played; /* bytes since the stream was begun */

/* Describes a ring in the client's memory. Returns 1 if it can be played from. */
uint32_t set_ring(uint32_t buffer, uint32_t period, uint32_t periods);

/* Plays on from where it was stopped, or from the beginning. */
void start_stream(uint32_t format);

/* Whether the stream's interrupt has come: then stream_played has gone on, and what was played is silence now. */
uint32_t stream_advances(void);

/* Stops it, touching the device only if it is on. What is in the ring stays, from the period on that was under way. */
void stop_stream(uint32_t is_on);

/* A new stream: nothing was played or filled. */
void rewind_stream(void);

/* The client says that the ring holds samples up to `position`. */
void fill_stream(uint64_t position);

/* Nothing is left in the ring: true also if the device has played more than there was. */
uint32_t stream_is_empty(void);

/* What is left in the ring is not played. */
void skip_stream(void);

#endif
