/* A tank with a valve through which water flows in, and a hole in the ground through which it flows out: the quicker, the higher
 * the level. Each request lets one period pass. Levels and flows are in micrometres, and micrometres a period. */
#include "../tank.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define INFLOW 2000u  /* with the valve open */
#define OUTFLOW 1000u /* a period, of a full tank */

static uint64_t after_a_period(uint64_t level, uint64_t valve)
{
    uint64_t in = INFLOW * (valve > VALVE_OPEN ? VALVE_OPEN : valve) / VALVE_OPEN;
    uint64_t out = OUTFLOW * level / LEVEL_FULL;

    level = level + in - out;
    return level > LEVEL_FULL ? LEVEL_FULL : level;
}

int main(void)
{
    uint32_t valve = env_slot("endpoint.valve");
    struct message message = {.count = 0};
    uint64_t level = 0;
    uint32_t status = message_recv(valve, &message);

    while (status == STATUS_OK) {
        level = after_a_period(level, message.count != 0 ? message.word[0] : 0);
        message.count = 1;
        message.word[0] = level;
        status = message_reply_recv(valve, &message);
    }
    panic("waiting for requests: error %u\n", status);
}
