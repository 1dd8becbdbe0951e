/* Takes a reading every ten milliseconds and puts it into the buffer. While no process empties the buffer it waits: a sensor that must
 * not wait would need a thread for the buffer. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define PERIOD 10000000ul /* ns */
#define MAX_LEVEL 1000ul

/* What it measures: a number between 0 and MAX_LEVEL that rises and falls. There are no sensors in the emulator. */
static uint64_t measure(uint64_t number)
{
    uint64_t phase = number % (2 * MAX_LEVEL);

    return phase < MAX_LEVEL ? phase : 2 * MAX_LEVEL - phase;
}

int main(void)
{
    uint32_t buffer = env_slot("buffer.readings");
    uint64_t due = sys_clock();

    for (uint64_t number = 1;; number++) {
        /* The number in the upper half, the value in the lower one. */
        uint32_t status = sys_buffer_insert(buffer, number << 32 | measure(number));
        if (status != STATUS_OK) {
            panic("SENSOR inserting reading %lu: error %u\n", number, status);
        }
        due += PERIOD;
        sys_sleep(due);
    }
}
