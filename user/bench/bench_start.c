/* Counts the instructions from the reset of the processor to the first of a program: firmware, kernel start-up and loading. */
#include "bench.h"
#include "bench_sample.h"

#include "ashlar/print.h"

int main(void)
{
    uint64_t now = timestamp();

    calibrate();
    print("BENCH start %lu min %lu max %lu\n", now, now, now);
    print("BENCH-DONE\n");
    return 0;
}
