/* Answers twice, but only the second time. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    uint32_t count = 0;

    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            EMIT(DOOR_ANSWER);
            count++;
            if (count == 2u) {
                EMIT(DOOR_ANSWER);
            }
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
