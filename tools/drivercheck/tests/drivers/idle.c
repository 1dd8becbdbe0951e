/* Waits for ever if nothing comes, with nothing owed and for all that may come: that is right. */
#include "ashlar/driver.h"
#include "bell_protocol.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(DOOR_KNOCK, DOOR_LEAVE, BELL_RING, BELL_STOP);
        if (mailbox == DOOR_KNOCK) {
            EMIT(DOOR_ANSWER);
        } else if (mailbox == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
        }
    }
}
