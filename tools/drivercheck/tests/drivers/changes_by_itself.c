/* A volatile object may change without the driver. */
#include "ashlar/driver.h"
#include "door_protocol.h"

static volatile uint32_t flag;

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            if (flag != 0u) {
                EMIT(DOOR_ANSWER);
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
