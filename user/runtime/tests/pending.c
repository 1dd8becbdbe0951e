/* Messages that are not awaited yet, beside a plain list: on random steps both give the same message, the oldest one of the set, and
 * know of the same ones; a peer has as much room as every other one, whatever the others hold. */
#include "../domain_pending.c"

#include <string.h>

#include "../../libc/tests/check.h"

#define STEPS 300000u
#define PORTS 3u
#define MESSAGES 5u
#define NUM_OWN 4u

struct domain domain;
struct mail_port domain_ports[DOMAIN_PORTS];
struct mail_port *domain_known;

static struct pending pools[PORTS][NUM_PENDING];
static uint32_t num_refused; /* for want of room */

void panic(const char *pattern, ...)
{
    fputs(pattern, stderr);
    exit(1);
}

/* ---- the list ---- */
struct entry {
    uint32_t mailbox;
    uint64_t cookie;
    const struct pending *owner; /* null: kept */
};
static struct entry list[PORTS * NUM_PENDING + NUM_OWN];
static uint32_t count;

static struct entry list_remove(uint32_t at)
{
    struct entry entry = list[at];
    count--;
    memmove(&list[at], &list[at + 1], (count - at) * sizeof list[0]);
    return entry;
}

static void list_insert(uint32_t at, struct entry entry)
{
    memmove(&list[at + 1], &list[at], (count - at) * sizeof list[0]);
    list[at] = entry;
    count++;
}

static uint32_t list_find(const struct mail_set *set)
{
    uint32_t at = 0;
    while (at < count && !is_in(set, list[at].mailbox)) {
        at++;
    }
    return at;
}

static uint32_t kept(uint32_t port)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += list[i].owner == 0 && list[i].mailbox >> 8 == port;
    }
    return found;
}

/* ---- steps ---- */
static uint64_t seed = 7;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (uint32_t)((seed >> 33) % limit);
}

static struct pending own[NUM_OWN];
static uint64_t next_cookie;

static void keep(uint32_t number)
{
    struct mail_port *port = &domain_ports[number];
    uint32_t message = random_below(MESSAGES);
    struct mail slot = {.cookie = next_cookie};
    int has_room = kept(number) < NUM_PENDING;

    port->link.in.at = &slot;
    CHECK(pending_keep(port, message) == has_room);
    num_refused += !has_room;
    if (has_room) {
        list_insert(count, (struct entry){AT(number, message), next_cookie, 0});
        next_cookie++;
    }
}

static void append(uint32_t number)
{
    struct pending *mine = &own[random_below(NUM_OWN)];
    uint32_t mailbox = AT(number, random_below(MESSAGES));
    uint32_t is_first = random_below(4) == 0;

    for (uint32_t i = 0; i < count; i++) {
        if (list[i].owner == mine) {
            return;
        }
    }
    mine->mail.cookie = next_cookie;
    domain_append(mine, mailbox, is_first);
    list_insert(is_first ? 0 : count, (struct entry){mailbox, next_cookie, mine});
    next_cookie++;
}

static void retract(void)
{
    struct pending *mine = &own[random_below(NUM_OWN)];

    domain_retract(mine);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].owner == mine) {
            list_remove(i);
            return;
        }
    }
}

static void take(void)
{
    struct mail_set set = {{0}};
    struct mail mail;

    for (uint32_t port = 1; port <= PORTS; port++) {
        set.mask[port] = random_below(1u << MESSAGES);
    }
    uint32_t at = list_find(&set);
    CHECK(domain_has_pending(&set) == (at != count));
    uint32_t mailbox = pending_take(&set, &mail);
    if (at == count) {
        CHECK(mailbox == DOMAIN_TIMEOUT);
        return;
    }
    struct entry entry = list_remove(at);
    CHECK(mailbox == entry.mailbox && mail.mailbox == entry.mailbox && mail.cookie == entry.cookie);
}

static void forget(uint32_t number)
{
    pending_forget(number);
    for (uint32_t i = count; i != 0; i--) {
        if (list[i - 1].mailbox >> 8 == number) {
            list_remove(i - 1);
        }
    }
}

int main(void)
{
    for (uint32_t opened = 0; opened < PORTS; opened++) {
        struct mail_port *port = &domain_ports[opened + 1];
        port->number = opened + 1;
        port->local = AT(opened + 1, 0);
        port->pool = pools[opened];
        for (uint32_t i = 0; i < NUM_PENDING; i++) {
            pools[opened][i].next = port->unused;
            port->unused = &pools[opened][i];
        }
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t number = 1 + random_below(PORTS);
        uint32_t is_filling = step / 4000 % 2 == 0; /* up to the last place of the pools, and down again */
        switch (random_below(16)) {
        case 0:
            append(number);
            break;
        case 1:
            retract();
            break;
        case 2:
            if (random_below(1000) == 0) {
                forget(number);
            }
            break;
        default:
            if (random_below(8) < (is_filling ? 6u : 2u)) {
                keep(number);
            } else {
                take();
            }
        }
        uint32_t waiting = 0;
        for (uint32_t port = 1; port <= PORTS; port++) {
            waiting |= (uint32_t)(domain_ports[port].waiting != 0) << port;
        }
        CHECK(domain.waiting == waiting && (waiting != 0) == (count != 0));
    }
    CHECK(num_refused != 0);
    return 0;
}
