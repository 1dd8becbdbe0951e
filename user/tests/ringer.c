/* Signals the notification `bell` every `period_us` microseconds, for ever. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

int main(void)
{
    uint64_t period = env_arg_u64("period_us", 10000) * 1000;
    uint32_t bell = env_slot("notification.bell");
    uint64_t next = sys_clock() + period;

    for (;;) {
        sys_sleep(next);
        if (sys_signal(bell) != STATUS_OK) {
            panic("the bell does not ring\n");
        }
        next += period;
    }
}
