/* Whether there is work left stands in memory: what is prepared there excludes what is done later.
 * Inputs: a number. Cases: both ways. conflict: 2 */
#include "program.h"

struct task {
    uint32_t pending, cells[8];
} task;

const uint32_t cases = 4;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

NOINLINE static void work(struct task *on, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        on->cells[i & 7] += i;
}

NOINLINE static void begin(struct task *on, uint32_t urgent)
{
    on->pending = 1;
    if (urgent) {
        work(on, 35);
        on->pending = 0;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    begin(&task, first & 1);
    task.cells[0]++;
    if (task.pending)
        work(&task, 45);
    return task.cells[0];
}
