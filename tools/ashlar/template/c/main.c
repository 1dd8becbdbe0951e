/* Takes a reading every `period_ms` (default 100) and prints the mean of the last ones, once a second. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "mean.h"

#define READINGS 10u

/* There is no sensor in the emulator: a saw tooth from 0 to 90 stands for one. */
static uint64_t reading(uint64_t number)
{
    return number % READINGS * 10;
}

int main(void)
{
    uint64_t period = env_arg_u64("period_ms", 100) * 1000000;
    uint64_t due = sys_clock() + period;
    struct mean mean = {0};

    for (uint64_t number = 0;; number++) {
        sys_sleep(due);
        due += period;
        mean_add(&mean, reading(number));
        if (number % READINGS == READINGS - 1) {
            print("MEAN %lu of the last %lu readings\n", mean_value(&mean), mean.count);
        }
    }
}
