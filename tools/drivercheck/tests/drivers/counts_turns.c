/* Gives no answer while the timer fires. The shortest cycle counts, another one does not. */
#include "ashlar/driver.h"
#include "door_protocol.h"
#include "timer_protocol.h"

static const struct timer_arm soon = {1000};
static uint32_t turns;

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
            return;
        }
        while (turns != 9u) {
            EMIT(TIMER_ARM, 0, &soon);
            AWAIT(TIMER_FIRED);
            if (register_read32(4) == 0u) {
                turns = (turns + 1u) & 0xffffu;
            } else {
                EMIT(TIMER_ARM, 0, &soon);
                AWAIT(TIMER_FIRED);
            }
        }
        EMIT(DOOR_ANSWER);
    }
}
