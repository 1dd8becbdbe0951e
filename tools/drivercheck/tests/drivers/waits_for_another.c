/* A server that lets no client leave before the other one has ordered. */
#include "ashlar/clients.h"
#include "jobs_protocol.h"

#define CLIENTS 2u

static uint8_t has_ordered[CLIENTS];

void driver(void)
{
    for (;;) {
        if (AWAIT(JOBS_ORDER, JOBS_LEAVE) == JOBS_ORDER) {
            has_ordered[CLIENT()] = 1;
            EMIT(JOBS_DONE, COOKIE());
        } else if (has_ordered[(CLIENT() + 1u) % CLIENTS]) {
            EMIT(JOBS_LEFT);
        }
    }
}

const struct driver_clients driver_clients = {JOBS_NUMBER, CLIENTS, 0};
