/* Answers twice, but only if a device has not come out of its reset after a million reads. */
#include "ashlar/driver.h"
#include "door_protocol.h"

static uint32_t table[64];

static uint32_t poll(uint32_t polls)
{
    uint32_t is_busy = 1;

    while (is_busy && polls != 0u) {
        EMIT(DOOR_TOUCH);
        is_busy = register_read32(4) & 1u;
        polls = polls - 1u;
    }
    return !is_busy;
}

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
            return;
        }
        for (uint32_t i = 0; i < 64u; i = i + 1u) {
            table[i] = 0;
            poll(10);
        }
        if (!poll(1000000)) {
            EMIT(DOOR_ANSWER);
        }
        EMIT(DOOR_ANSWER);
    }
}
