/* Drivers and services with several clients of one protocol, each at a link of its own. Include it before anything that sends or
 * awaits. The driver says of which protocol, and how many clients it can have:
 *   const struct driver_clients driver_clients = {ETHERNET_NUMBER, 8, 0};
 * Clients are numbered from 0, in the order of the description, where the process has `serves`.
 *
 * It may be the client of a driver of the same protocol, too, which the description names by `uplink` or `disk`, or not at all: then it
 * gets no message of it, and what it sends to it is dropped.
 *
 * One client has its turn: the one that sent the message taken last, until the driver turns to another; behind any other message, and
 * behind a POLL that found none, no client has. EMIT sends what is of this protocol to the client whose turn it is, and
 * dma_memory(), dma_physical() and dma_size() of this protocol are of that client's area. Everything else is as in ashlar/driver.h.
 *
 *   CLIENT()           the client whose turn it is. Requires: there is one.
 *   TURN_TO(client)    gives the turn to another. Requires: below the COUNT that the driver has said.
 *   POLL(mb1, mb2, …)  like AWAIT if there is a message; otherwise it returns 0 at once.
 *   AWAIT_UNTIL(time, mb1, mb2, …)
 *                      waits no longer than until this time, ns since boot, and then returns 0. */
#ifndef ASHLAR_CLIENTS_H
#define ASHLAR_CLIENTS_H

#include "ashlar/driver.h"

struct driver_clients {
    uint32_t protocol; /* its number */
    uint32_t most;     /* clients, 8 at most */
    uint32_t pages;    /* of the data area of the link to its own driver, if it has one */
};
extern const struct driver_clients driver_clients;

#define CLIENTS_MOST 8u

void clients_emit(uint32_t mailbox, uint64_t cookie);
void clients_emit_payload(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size);
uint32_t clients_await(const struct mail_set *set);
uint32_t clients_await_until(const struct mail_set *set, uint64_t time);
uint32_t clients_current(void);
void clients_turn_to(uint32_t client);

#define CLIENT() clients_current()
#define TURN_TO(client) clients_turn_to(client)

#undef EMIT_COOKIE
#undef EMIT_PAYLOAD
#undef AWAIT
#define EMIT_COOKIE(mailbox, cookie) clients_emit((mailbox), (cookie))
#define EMIT_PAYLOAD(mailbox, cookie, body)                                                                            \
    do {                                                                                                               \
        _Static_assert(sizeof *(body) <= MAIL_PAYLOAD, "a payload has at most 40 bytes");                              \
        clients_emit_payload((mailbox), (cookie), (body), sizeof *(body));                                             \
    } while (0)
#define AWAIT_UNTIL(time, ...)                                                                                         \
    ({                                                                                                                 \
        _Static_assert(sizeof((const uint32_t[]){__VA_ARGS__}) <= MAIL_MOST * sizeof(uint32_t),                        \
                       "an AWAIT waits for at most 64 mailboxes");                                                     \
        static const struct mail_set mail_set_ = MAIL_SET(__VA_ARGS__);                                                \
        clients_await_until(&mail_set_, (time));                                                                       \
    })
#define AWAIT(...)                                                                                                     \
    ({                                                                                                                 \
        _Static_assert(sizeof((const uint32_t[]){__VA_ARGS__}) <= MAIL_MOST * sizeof(uint32_t),                        \
                       "an AWAIT waits for at most 64 mailboxes");                                                     \
        static const struct mail_set mail_set_ = MAIL_SET(__VA_ARGS__);                                                \
        clients_await(&mail_set_);                                                                                     \
    })
#define POLL(...) AWAIT_UNTIL(0ul, __VA_ARGS__)

/* A mailbox of the framework's own: the `status` was asked for at this process's console. */
#define CONSOLE_STATUS AT(DOMAIN_EVENTS, 1)

/* ---- what the description says of the clients ---- */

uint32_t client_count(void);
const char *client_name(uint32_t client);
/* The numbers behind `client.NAME=` of the environment, the first with `which` 0. A hardware address is one number, its first byte
 * the most significant of six. 0 if there are no more. Requires of these two: client < client_count(). */
uint64_t client_value(uint32_t client, uint32_t which);

/* Whether it names a driver of which this process is the client, by `uplink` or `disk`. */
uint32_t driver_is_named(void);

/* ---- the data areas of the links: a client's by its number, that of a driver by its protocol ----
 * Each returns 0, and does nothing, if there is no link or the bytes are not all in its area. */
#define AREA_OF_DRIVER(protocol) (0x100u | (protocol))

/* Bytes of an area; 0 if there is no link. */
uint64_t area_size(uint32_t area);
uint32_t area_read(void *to, uint32_t area, uint64_t at, uint64_t bytes);
uint32_t area_write(uint32_t area, uint64_t at, const void *from, uint64_t bytes);
uint32_t area_clear(uint32_t area, uint64_t at, uint64_t bytes);
uint32_t area_copy(uint32_t to, uint64_t to_at, uint32_t from, uint64_t from_at, uint64_t bytes);

/* Time since boot, ns. */
uint64_t time_now(void);

#endif
