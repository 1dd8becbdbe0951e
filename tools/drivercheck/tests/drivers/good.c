/* Keeps to the protocol in roundabout ways: flags, structs behind pointers, bounded loops, labels. */
#include "ashlar/driver.h"
#include "door_protocol.h"

struct visitor {
    uint32_t is_waiting;
    uint32_t count;
};

static struct visitor visitor;
static const uint32_t limit = 1000;

static void note(struct visitor *one, uint32_t is_waiting)
{
    one->is_waiting = is_waiting;
    one->count += is_waiting ? 1u : 0u;
}

static uint32_t poll(void)
{
    uint32_t tries;

    for (tries = 0; tries < limit; tries++) {
        if ((register_read32(0) & 1u) == 0u) {
            break;
        }
    }
    return tries != limit;
}

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(DOOR_KNOCK, DOOR_LEAVE);
        uint32_t is_knock = mailbox == DOOR_KNOCK;

        note(&visitor, is_knock);
        for (uint32_t i = 0; i < 3u && visitor.is_waiting; i++) {
            EMIT(DOOR_TOUCH);
        }
        if (!poll() && !is_knock) {
            goto leave;
        }
        switch (mailbox) {
        case DOOR_KNOCK:
            if (visitor.is_waiting) {
                EMIT(DOOR_ANSWER);
                break;
            }
            /* fall through */
        default:
        leave:
            EMIT(DOOR_LEFT);
            if (visitor.count > 10u) {
                return;
            }
        }
    }
}
