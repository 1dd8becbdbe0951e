/* A CPU's `stuck` counts how often it got stuck and came out again, so it is odd while it is. */
#include "cpu/stuck.h"

#include "machine.h"

static uint32_t count_of(const struct cpu *cpu)
{
    return __atomic_load_n(&cpu->stuck, __ATOMIC_SEQ_CST);
}

void stuck_begin(struct cpu *cpu)
{
    __atomic_fetch_add(&cpu->stuck, 1, __ATOMIC_SEQ_CST);
}

void stuck_end(struct cpu *cpu)
{
    if (count_of(cpu) % 2 != 0) {
        __atomic_fetch_add(&cpu->stuck, 1, __ATOMIC_SEQ_CST);
    }
}

/* The inboxes are read between two looks at the counts. Where these are odd and the same, all CPUs were stuck all the while: none has
 * taken from an inbox or put into one, so what was read of each holds at once. One look is not enough: a CPU that wakes behind it
 * empties its inbox, and another's may fill behind the look into it. */
uint32_t all_are_stuck(void)
{
    uint32_t before[MAX_CPUS];

    for (uint32_t i = 0; i < machine.cpus; i++) {
        before[i] = count_of(&machine.cpu[i]);
        if (before[i] % 2 == 0) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < machine.cpus; i++) {
        if (inbox_is_full(&machine.cpu[i].inbox)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < machine.cpus; i++) {
        if (count_of(&machine.cpu[i]) != before[i]) {
            return 0;
        }
    }
    return 1;
}
