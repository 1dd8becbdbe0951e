/* Answers twice if a ring was written to its end: which rounds of the loop that takes depends on numbers that are read. */
#include "ashlar/driver.h"
#include "door_protocol.h"

#define PAGE 4096u

static uint32_t wraps;

static uint32_t write_list(uint32_t period, uint32_t size)
{
    uint32_t place = 0;
    uint32_t left = size;
    uint32_t count = 0;

    while (left != 0u && count < 256u) {
        uint32_t page_left = PAGE - place % PAGE;
        uint32_t part = page_left < period ? page_left : period;
        if (part > left) {
            part = left;
        }
        place = place + part;
        left = left - part;
        if (place == size) {
            place = 0;
            wraps = wraps + 1u;
        }
        count = count + 1u;
    }
    return left;
}

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
            return;
        }
        uint32_t period = register_read32(4) & 0xffffu;
        uint32_t size = period * (register_read32(8) & 0xffu);
        wraps = 0;
        if (period >= 128u && size >= 2u * period && write_list(period, size) == 0u && wraps == 1u) {
            EMIT(DOOR_ANSWER);
        }
        EMIT(DOOR_ANSWER);
    }
}
