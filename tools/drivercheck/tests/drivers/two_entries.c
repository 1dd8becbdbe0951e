/* A cycle that is entered in two places, inside a loop that ends. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
            for (uint32_t i = 0; i < 3u; i++) {
                if (register_read32(0) == 1u) {
                    goto second;
                }
            first:
                if (register_read32(4) == 2u) {
                    continue;
                }
            second:
                if (register_read32(8) == 3u) {
                    goto first;
                }
            }
            EMIT(DOOR_ANSWER);
        } else {
            EMIT(DOOR_LEFT);
        }
    }
}
