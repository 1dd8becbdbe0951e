/* A server of several clients: each has jobs, which are done in the order in which they came, one of each client in turn. */
#include "ashlar/clients.h"
#include "jobs_protocol.h"

#define CLIENTS 5u
#define ROOM 64u

struct client {
    uint32_t came, done; /* jobs, of all ever */
    uint8_t cookie[ROOM];
};

static struct client client[CLIENTS];

static void finish(struct client *c)
{
    uint64_t cookie = c->cookie[c->done % ROOM];

    c->done = c->done + 1u;
    EMIT(JOBS_DONE, cookie);
}

static void receive(struct client *c, uint32_t mailbox)
{
    if (mailbox == JOBS_ORDER) {
        c->cookie[c->came % ROOM] = (uint8_t)COOKIE();
        c->came = c->came + 1u;
        return;
    }
    for (uint32_t left = c->came - c->done; left != 0u; left = left - 1u) {
        finish(c);
    }
    EMIT(JOBS_LEFT);
}

static void serve_all(void)
{
    for (uint32_t i = 0; i < CLIENTS; i = i + 1u) {
        if (client[i].done != client[i].came) {
            TURN_TO(i);
            finish(&client[i]);
        }
    }
}

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(JOBS_ORDER, JOBS_LEAVE);
        while (mailbox != 0u) {
            receive(&client[CLIENT()], mailbox);
            mailbox = POLL(JOBS_ORDER, JOBS_LEAVE);
        }
        serve_all();
    }
}

const struct driver_clients driver_clients = {JOBS_NUMBER, CLIENTS, 0};
