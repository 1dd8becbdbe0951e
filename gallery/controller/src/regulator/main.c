/* Sets the tank's valve every 10 ms and says once in five seconds how it went. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "control.h"

#define STEPS_A_LINE 500u

int main(void)
{
    uint32_t endpoint = env_slot("endpoint.valve");
    struct control control = {0};
    uint64_t due = sys_clock() + PERIOD, latest = 0, level = 0;

    for (uint64_t step = 1;; step++) {
        sys_sleep(due);
        uint64_t late = sys_clock() - due;
        latest = late > latest ? late : latest;
        due += PERIOD;
        uint64_t word = control_step(&control, level);
        uint32_t status = message_call1(endpoint, &word);
        if (status != STATUS_OK) {
            panic("setting the valve: error %u\n", status);
        }
        level = word;
        if (step % STEPS_A_LINE == 0) {
            print("LEVEL %lu mm, at most %lu us late\n", level / 1000, latest / 1000);
            latest = 0;
        }
    }
}
