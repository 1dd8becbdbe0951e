/* After one knock it awaits the bell alone, and assumes that the bell is taken away at last. */
#include "ashlar/driver.h"
#include "bell_protocol.h"
#include "door_protocol.h"

void driver(void)
{
    uint32_t mailbox = BELL_RING;

    while (mailbox != DOOR_KNOCK) {
        mailbox = AWAIT(DOOR_KNOCK, DOOR_LEAVE, BELL_RING, BELL_STOP);
        if (mailbox == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
        }
    }
    EMIT(DOOR_ANSWER);
    while (mailbox != BELL_STOP) {
        mailbox = AWAIT(BELL_RING, BELL_STOP);
    }
    while (mailbox != DOOR_LEAVE) {
        mailbox = AWAIT(DOOR_KNOCK, DOOR_LEAVE, BELL_RING);
        if (mailbox == DOOR_KNOCK) {
            EMIT(DOOR_ANSWER);
        }
    }
    EMIT(DOOR_LEFT);
}
