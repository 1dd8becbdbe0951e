/* A unit test with the kernel: the whole program runs on this PC, the kernel's own layers serve its system calls, and its time does not
 * pass but jumps. unit.h says what else there can be: several programs, end points, notifications. */
#include "../src/sensor/mean.c"
#define main sensor
#include "../src/sensor/main.c"
#undef main
#include "ashlar/unit.h"
#include <assert.h>

int main(void)
{
    unit_begin();
    uint32_t process = unit_process("sensor", sensor);
    unit_argument(process, "period_ms", "100");
    unit_run(3 * UNIT_SECOND);
    assert(unit_said(process, "MEAN 45 of the last 10 readings\n"));
    assert(unit_exit_code(process) == UNIT_RUNS);
    return 0;
}
