/* A counter of eight bits is always less than 256. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            for (uint8_t i = 0; i < 256; i++) {
                if (register_read32(4) == 5u) {
                    break;
                }
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
