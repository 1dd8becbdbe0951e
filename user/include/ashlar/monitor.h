/* The run-time monitor of driver protocols: follows a protocol's automaton while a driver runs, and reports when the driver
 * or its client breaks it. Driven by tables that `protocol generate` writes; allocates nothing, calls nothing.
 *
 * It checks rules 1, 3, 5, 6 (cookies of requests) and 7 (ranges of payloads). It cannot check rules 2 and 4, which speak of
 * what happens eventually; nor `needs`, which speaks of two protocols. */
#ifndef ASHLAR_MONITOR_H
#define ASHLAR_MONITOR_H

#include <stdint.h>

#define MONITOR_ILLEGAL 0xffffu /* in a table: the message is not enabled */

/* What a message's cookie does. */
enum { MONITOR_NO_COOKIE, MONITOR_OPENS, MONITOR_CLOSES, MONITOR_NAMES };

/* Verdicts. For a message received, anything but MONITOR_OK is its sender's fault. */
enum monitor_verdict {
    MONITOR_OK,
    MONITOR_RULE_1,  /* the message is not enabled in this state */
    MONITOR_RULE_3,  /* this AWAIT may never end */
    MONITOR_RULE_5,  /* returned while a protocol is not in a final state */
    MONITOR_UNKNOWN, /* no message of this protocol, or of the other direction */
    MONITOR_PAYLOAD, /* a field is out of its range */
    MONITOR_COOKIE,  /* opens what is open, or names what is not */
    MONITOR_DRAINED, /* a request is open that must not be */
};

struct monitor;
struct mail;
struct mail_set;
struct mail_port;

/* A message's own step, which `protocol generate` writes: the verdict if it is sent or received now, in its direction. `size` is the
 * number of the payload's bytes that are there. The state changes only if the verdict is MONITOR_OK. */
typedef enum monitor_verdict monitor_check(struct monitor *monitor, uint64_t cookie, const void *payload,
                                           uint64_t size);

/* Takes the next message of a port's ring, which is `message`, and follows it if the port is a driver's. Returns the mailbox, or what
 * domain_await() returns behind a message that was refused. */
typedef uint32_t mail_taker(const struct mail_set *set, uint64_t deadline, struct mail_port *port, struct mail *mail,
                            uint64_t message);

/* Puts a message into a port's ring, and follows it if the port is a driver's. `size` is the number of the payload's bytes that are
 * there. Returns the port's bit, or what the port's `unsent` does. */
typedef uint32_t mail_sender(struct mail_port *port, uint64_t cookie, const void *body, uint64_t size);

struct protocol_state {
    const char *name;
    uint16_t first_promise;
    uint8_t num_promise;
    uint8_t is_final;
    uint8_t is_timed;
};

struct protocol_field {
    const char *name;
    uint8_t offset;
    uint8_t bytes; /* of an element: 1, 2, 4 or 8 */
    uint8_t count;
    uint64_t least;
    uint64_t most;
};

struct protocol_message {
    const char *name;
    uint8_t is_incoming;
    uint8_t cookie;
    uint8_t request;
    uint16_t first_field;
    uint8_t num_field;
    uint8_t is_owed;  /* comes at last where a promise names it; others need never come */
    uint32_t drained; /* requests of which none may be open */
    uint32_t drops;   /* requests that end with it */
};

struct protocol_request {
    const char *name;
    uint32_t limit;      /* cookies are below */
    uint32_t first_word; /* of its bits among the monitor's */
};

struct protocol {
    const char *name;
    uint32_t first_mailbox;
    uint32_t num_message;
    uint32_t num_state;
    uint32_t num_request;
    uint32_t num_word;
    const uint16_t *next; /* by state and message */
    const struct protocol_state *states;
    const uint64_t *promises; /* each (num_message + 63) / 64 words, a bit for each message */
    const struct protocol_message *messages;
    const struct protocol_field *fields;
    const struct protocol_request *requests;
    /* By message. */
    monitor_check *const *check;
    mail_taker *const *take_as_driver;
    mail_taker *const *take_as_client;
    mail_sender *const *send_as_driver;
    mail_sender *const *send_as_client;
};

struct monitor {
    const struct protocol *protocol;
    uint64_t *open; /* num_word words: a bit for each open request */
    uint32_t state;
    uint32_t first; /* mailbox of message 0: the protocol's, unless this is a further link of the protocol */
};

/* Starts in the initial state with no request open. `open` has room for the protocol's NAME_MONITOR_WORDS words. */
void monitor_start(struct monitor *monitor, const struct protocol *protocol, uint64_t *open);

/* The driver emits, or has received, a message. The state changes only if the verdict is MONITOR_OK. `payload` may be
 * null if the message has no fields with ranges. */
enum monitor_verdict monitor_emit(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload);
enum monitor_verdict monitor_receive(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload);

/* The driver waits for `mailboxes`; `monitors` are those of all its protocols. MONITOR_OK if one of them promises that
 * one of these messages comes, an owed one among them; or that one of these may come, while the driver waits for all that
 * is enabled and no state is timed. */
enum monitor_verdict monitor_await(const struct monitor *const *monitors, uint32_t num_monitor,
                                   const uint32_t *mailboxes, uint32_t num_mailbox);

/* The driver returns: every protocol is in a final state, and no request is open. */
enum monitor_verdict monitor_return(const struct monitor *const *monitors, uint32_t num_monitor);

/* For messages to people. */
const char *monitor_state(const struct monitor *monitor);
const char *monitor_explain(enum monitor_verdict verdict);

#endif
