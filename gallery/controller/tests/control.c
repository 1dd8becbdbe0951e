/* The regulator brings the level to its target from below and from above, and keeps it there. */
#include "../src/regulator/control.h"

#include <stdio.h>
#include <stdlib.h>

/* As the tank of src/tank does it. */
static uint64_t after_a_period(uint64_t level, uint64_t valve)
{
    level = level + 2000 * valve / VALVE_OPEN - 1000 * level / LEVEL_FULL;
    return level > LEVEL_FULL ? LEVEL_FULL : level;
}

static void settles_from(uint64_t level)
{
    struct control control = {0};

    for (uint32_t step = 0; step < 12000; step++) {
        level = after_a_period(level, control_step(&control, level));
        if (step >= 6000 && (level < TARGET - 5000 || level > TARGET + 5000)) {
            printf("step %u: level %lu\n", step, (unsigned long)level);
            exit(1);
        }
    }
}

int main(void)
{
    settles_from(0);
    settles_from(TARGET);
    settles_from(LEVEL_FULL);
    return 0;
}
