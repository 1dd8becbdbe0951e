/* Answers a knock only when the bell is taken away, which need never happen. */
#include "ashlar/driver.h"
#include "bell_protocol.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        uint32_t mailbox = AWAIT(DOOR_KNOCK, DOOR_LEAVE, BELL_RING, BELL_STOP);
        if (mailbox == DOOR_KNOCK) {
            while (AWAIT(BELL_RING, BELL_STOP) != BELL_STOP) {
            }
            EMIT(DOOR_ANSWER);
        } else if (mailbox == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
        }
    }
}
