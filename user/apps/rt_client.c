/* The periodic half of the real-time pair: every period it wakes, calls the controller behind endpoint `control` with
 * a sample and checks the answer. Once in `every` periods it prints a heartbeat with the worst lateness of its wake-ups
 * since the last one. Arguments: `period_us` (default 10000), `every` (default 100). */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t control = env_slot("endpoint.control");
    uint64_t period = env_arg_u64("period_us", 10000) * 1000;
    uint64_t every = env_arg_u64("every", 100);
    uint64_t sum = 0;
    uint64_t worst = 0;
    uint64_t skipped = 0;
    uint64_t due = sys_clock() + period;

    for (uint64_t beat = 1;; beat++) {
        uint64_t sample = beat;

        sys_sleep(due);
        uint64_t now = sys_clock();
        uint64_t late = now - due;
        worst = late > worst ? late : worst;
        due += period;
        while (due <= now) {
            due += period;
            skipped++;
        }
        sum += sample;
        uint32_t status = message_call1(control, &sample);
        if (status != STATUS_OK) {
            panic("call %lu: error %u\n", beat, status);
        }
        if (sample != sum) {
            panic("call %lu: answer %lu instead of %lu\n", beat, sample, sum);
        }
        if (beat % every == 1 || every == 1) {
            print("HEARTBEAT %lu: worst wake-up %lu us late, %lu periods skipped\n", beat, worst / 1000, skipped);
            worst = 0;
        }
    }
}
