/* Polls without bound while the client waits for an answer. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
            return;
        }
        while ((register_read32(4) & 1u) != 0u) {
        }
        EMIT(DOOR_ANSWER);
    }
}
