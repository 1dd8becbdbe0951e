/* The way out: a client of the card's driver by the protocol `ethernet`. It opens the interface whenever there is one, has it receive
 * every frame, keeps account of which buffers the driver has, and begins anew when the card or the driver has gone and come back.
 *
 * Written as drivers are, so that `ashlar drivers verify net_watch`, a program around these functions, checks them against the
 * protocol as a client keeps to it. Their caller hands them every message of `ethernet` and `timer`, and looks after the frames. */
#ifndef SWITCH_UPLINK_H
#define SWITCH_UPLINK_H

#include "ashlar/driver.h"
#include "ethernet_protocol.h"
#include "timer_protocol.h"

#define UPLINK_BUFFER 2048u
#define UPLINK_BUFFERS 64u /* to send, at the beginning of the data area; as many to receive stand behind them */
#define UPLINK_PAGES (2u * UPLINK_BUFFERS * UPLINK_BUFFER / 4096u)
#define UPLINK_FRAME 1514u /* bytes at most */
#define UPLINK_FRAME_LEAST 60u
#define UPLINK_PAUSE 10000000u /* ns before something that failed is tried again */
#define UPLINK_EVERYTHING 3u   /* mode of the filter: clients have addresses that the card does not know */
#define UPLINK_NONE UPLINK_BUFFERS

#define DRIVER_UP AT(ETHERNET_NUMBER, MAIL_LINK_UP)
#define DRIVER_LOST AT(ETHERNET_NUMBER, MAIL_LINK_LOST)

enum uplink_stage { UPLINK_AWAY, UPLINK_OPENING, UPLINK_RESTING, UPLINK_OPEN, UPLINK_CLOSING };

/* What a message has changed for the caller. */
enum uplink_news { UPLINK_NOTHING, UPLINK_FRAME_CAME, UPLINK_IS_UP, UPLINK_IS_DOWN };

static enum uplink_stage uplink_stage;
static uint32_t uplink_has_link;
static uint32_t uplink_is_asking;  /* the filter was given and is not confirmed */
static uint32_t uplink_must_close; /* the card is gone */
static uint32_t uplink_is_resting; /* the timer runs */
static uint64_t uplink_sending;    /* buffers that the driver has: a bit each */
static uint64_t uplink_lent;
static uint32_t uplink_num_sending;

/* Frames pass. */
static inline uint32_t uplink_is_up(void)
{
    return uplink_stage == UPLINK_OPEN && uplink_has_link && !uplink_must_close;
}

static inline uint32_t bit_is_set(uint64_t bits, uint32_t number)
{
    return number < UPLINK_BUFFERS && (bits >> number & 1u) != 0u;
}

/* How many frames can be sent. */
static inline uint32_t uplink_room(void)
{
    return uplink_is_up() ? UPLINK_BUFFERS - uplink_num_sending : 0u;
}

/* A buffer for a frame to send; UPLINK_NONE if there is none. It stands at that number times UPLINK_BUFFER of the data area. */
static inline uint32_t uplink_free(void)
{
    if (!uplink_is_up() || ~uplink_sending == 0u) {
        return UPLINK_NONE;
    }
    return (uint32_t)__builtin_ctzll(~uplink_sending);
}

/* Sends what stands in the buffer. Requires: the buffer is free, and holds UPLINK_FRAME_LEAST to UPLINK_FRAME bytes. */
static inline void uplink_send(uint32_t buffer, uint32_t bytes)
{
    struct ethernet_transmit body = {buffer * UPLINK_BUFFER, (uint16_t)bytes, 0};

    if (uplink_is_up() && buffer < UPLINK_BUFFERS && !bit_is_set(uplink_sending, buffer) &&
        bytes >= UPLINK_FRAME_LEAST && bytes <= UPLINK_FRAME) {
        uplink_sending = uplink_sending | 1ul << buffer;
        uplink_num_sending = uplink_num_sending + 1u;
        EMIT(ETHERNET_TRANSMIT, buffer, &body);
    }
}

/* The caller has done with the frame that came in this buffer. */
static inline void uplink_lend(uint32_t buffer)
{
    struct ethernet_receive_buffer body = {(UPLINK_BUFFERS + buffer) * UPLINK_BUFFER, UPLINK_BUFFER};

    if (uplink_stage == UPLINK_OPEN && !uplink_must_close && buffer < UPLINK_BUFFERS &&
        !bit_is_set(uplink_lent, buffer)) {
        uplink_lent = uplink_lent | 1ul << buffer;
        EMIT(ETHERNET_RECEIVE_BUFFER, buffer, &body);
    }
}

static inline void uplink_open(void)
{
    uplink_stage = UPLINK_OPENING;
    EMIT(ETHERNET_OPEN);
}

static inline void uplink_opened(void)
{
    struct ethernet_set_filter body = {UPLINK_EVERYTHING, 0};

    uplink_stage = UPLINK_OPEN;
    uplink_has_link = 0;
    uplink_must_close = 0;
    uplink_is_asking = 1;
    EMIT(ETHERNET_SET_FILTER, 0, &body);
    for (uint32_t i = 0; i < UPLINK_BUFFERS; i = i + 1u) {
        uplink_lend(i);
    }
}

/* The driver has no card yet. */
static inline void uplink_rest(void)
{
    struct timer_arm body = {UPLINK_PAUSE};

    uplink_stage = UPLINK_RESTING;
    if (!uplink_is_resting) {
        uplink_is_resting = 1;
        EMIT(TIMER_ARM, 0, &body);
    }
}

/* The protocol lets an interface be closed when nothing is asked of it. */
static inline void uplink_close_if_gone(void)
{
    if (uplink_must_close && !uplink_is_asking && uplink_stage == UPLINK_OPEN) {
        uplink_stage = UPLINK_CLOSING;
        EMIT(ETHERNET_CLOSE);
    }
}

/* The driver that was linked has ended, and all that it had. */
static inline void uplink_forget(void)
{
    uplink_stage = UPLINK_AWAY;
    uplink_has_link = 0;
    uplink_is_asking = 0;
    uplink_must_close = 0;
    uplink_sending = 0;
    uplink_num_sending = 0;
    uplink_lent = 0;
}

static inline enum uplink_news uplink_frame_came(void)
{
    uint64_t buffer = COOKIE();

    if (buffer < UPLINK_BUFFERS && bit_is_set(uplink_lent, (uint32_t)buffer)) {
        uplink_lent = uplink_lent & ~(1ul << buffer);
        return UPLINK_FRAME_CAME;
    }
    return UPLINK_NOTHING;
}

static inline void uplink_returned(void)
{
    uint64_t buffer = COOKIE();

    if (buffer < UPLINK_BUFFERS) {
        uplink_lent = uplink_lent & ~(1ul << buffer);
    }
}

static inline void uplink_sent(void)
{
    uint64_t buffer = COOKIE();

    if (buffer < UPLINK_BUFFERS && bit_is_set(uplink_sending, (uint32_t)buffer)) {
        uplink_sending = uplink_sending & ~(1ul << buffer);
        uplink_num_sending = uplink_num_sending - 1u;
    }
}

static inline void uplink_take(uint32_t mailbox)
{
    switch (mailbox) {
    case DRIVER_UP:
        uplink_forget();
        uplink_open();
        break;
    case DRIVER_LOST:
        uplink_forget();
        break;
    case ETHERNET_OPEN_OK:
        uplink_opened();
        break;
    case ETHERNET_OPEN_FAIL:
        uplink_rest();
        break;
    case TIMER_FIRED:
        uplink_is_resting = 0;
        if (uplink_stage == UPLINK_RESTING) {
            uplink_open();
        }
        break;
    case ETHERNET_CLOSE_OK:
        uplink_forget();
        uplink_open();
        break;
    case ETHERNET_LINK_UP:
        uplink_has_link = 1;
        break;
    case ETHERNET_LINK_DOWN:
        uplink_has_link = 0;
        break;
    case ETHERNET_GONE:
        uplink_must_close = 1;
        uplink_close_if_gone();
        break;
    case ETHERNET_FILTER_SET:
        uplink_is_asking = 0;
        uplink_close_if_gone();
        break;
    case ETHERNET_TRANSMIT_DONE:
        uplink_sent();
        break;
    case ETHERNET_RECEIVE_RETURNED:
        uplink_returned();
        break;
    default:
        break;
    }
}

/* Takes in the message that was awaited. For UPLINK_FRAME_CAME its cookie is the buffer. */
static inline enum uplink_news uplink_receive(uint32_t mailbox)
{
    uint32_t was_up = uplink_is_up();

    if (mailbox == ETHERNET_RECEIVED) {
        return uplink_frame_came();
    }
    uplink_take(mailbox);
    if (uplink_is_up() != was_up) {
        return was_up ? UPLINK_IS_DOWN : UPLINK_IS_UP;
    }
    return UPLINK_NOTHING;
}

#endif
