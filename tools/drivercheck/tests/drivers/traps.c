/* Traps while the client waits at the door. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            if (register_read32(0) == 7u) {
                __builtin_trap();
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
