/* Answers twice, but only if a device has passed a whole period. Before that comes a loop over the same periods: how often
 * it turns decides whether the later loops can. */
#include "ashlar/driver.h"
#include "door_protocol.h"

static uint32_t list[64];
static uint32_t table[64];

static void write_list(uint32_t size, uint32_t period)
{
    uint32_t left = size;
    uint32_t count = 0;

    while (left != 0u && count < 64u) {
        list[count] = left < period ? left : period;
        left = left - list[count];
        count = count + 1u;
    }
}

static uint32_t periods_passed(uint32_t ahead, uint32_t period)
{
    uint32_t passed = 0;

    while (ahead >= period && passed < 8u) {
        for (uint32_t i = 0; i < period / 4u; i = i + 1u) {
            table[i % 64u] = 0;
        }
        ahead = ahead - period;
        passed = passed + 1u;
    }
    return passed;
}

void driver(void)
{
    for (;;) {
        if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_LEAVE) {
            EMIT(DOOR_LEFT);
            return;
        }
        uint32_t period = register_read32(4);
        uint32_t periods = register_read32(8);
        if (period % 128u == 0u && period != 0u && period <= 4096u && periods >= 2u && periods <= 8u) {
            write_list(period * periods, period);
            uint32_t now = register_read32(12);
            if (now < period * periods && periods_passed(now, period) != 0u) {
                EMIT(DOOR_ANSWER);
            }
        }
        EMIT(DOOR_ANSWER);
    }
}
