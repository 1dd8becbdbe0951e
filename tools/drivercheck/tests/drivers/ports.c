/* State in an array of structs and in a table, each under a variable index. */
#include "ashlar/driver.h"
#include "door_protocol.h"

struct port {
    uint32_t is_waiting;
    uint32_t count[2];
};

static struct port ports[4];
static const uint32_t next[4] = {1, 2, 3, 0};

static void note(struct port *port, uint32_t is_waiting)
{
    port->is_waiting = is_waiting;
    port->count[is_waiting] += 1u;
}

void driver(void)
{
    uint32_t now = 0;

    for (;;) {
        struct port *port = &ports[now];

        note(port, AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK);
        if (ports[now].is_waiting) {
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
        now = next[now];
    }
}
