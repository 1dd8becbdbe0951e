/* Deadlines: no time of the clock, however far, becomes one that has passed. */
#include "clock/clock.c"

#include "test.h"

/* ---- what calibration uses, which this test does not reach ---- */
uint32_t apic_read(uint32_t reg)
{
    return reg;
}

void apic_write(uint32_t reg, uint32_t value)
{
    (void)reg;
    (void)value;
}

const char *reference_find(void)
{
    return 0;
}

void reference_start(void)
{
}

uint64_t reference_read(void)
{
    return 0;
}

uint64_t reference_ns(uint64_t first, uint64_t last)
{
    return last - first;
}

uint64_t reference_step_ns(void)
{
    return 1;
}

static void deadlines_at(uint64_t mhz, uint64_t base)
{
    uint64_t last = 0;
    tsc_base = base;
    tsc_per_ns = scale(mhz * 1000000ul, 1ul << 32, NS_PER_SECOND);
    for (uint64_t ns = 1; ns != 0; ns <<= 1) {
        CHECK(tsc_at(ns - 1) >= last);
        CHECK(tsc_at(ns) >= tsc_at(ns - 1));
        last = tsc_at(ns);
    }
    CHECK(tsc_at(~0ul) >= last);
    uint64_t second = tsc_at(NS_PER_SECOND) - base;
    CHECK(second >= mhz * 1000000ul && second < mhz * 1000000ul + 10);
    CHECK(tsc_at(~0ul - 1) > base + (1ul << 60) || tsc_at(~0ul - 1) == ~0ul);
}

int main(void)
{
    deadlines_at(1000, 0);
    deadlines_at(2600, 1ul << 40);
    deadlines_at(5200, 123456789);
    deadlines_at(6000, 1ul << 62);
    return TEST_END();
}
