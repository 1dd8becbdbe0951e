/* Waits for the end alone, as long as the timer fires; the bell may ring all the time. */
#include "ashlar/driver.h"
#include "bell_protocol.h"

#include "timer_protocol.h"

static const struct timer_arm soon = {1000};

void driver(void)
{
    for (;;) {
        EMIT(TIMER_ARM, 0, &soon);
        if (AWAIT(TIMER_FIRED, BELL_STOP) == BELL_STOP) {
            EMIT(TIMER_CANCEL);
            AWAIT(TIMER_FIRED, TIMER_CANCELLED);
            return;
        }
    }
}
