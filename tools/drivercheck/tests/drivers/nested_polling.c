/* The outer loop ends, if each wait inside it does: it need not. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            for (uint32_t i = 0; i < 10u; i++) {
                while ((register_read32(4) & 1u) != 0u) {
                }
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
