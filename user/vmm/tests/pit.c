/* The timer: periods and one-shots at exact times, Linux' calibration loop against it, latches, read-back. */
#include "../devices/pit.c"

#include "../../libc/tests/check.h"

static struct pit pit;

static void program(uint32_t channel, uint32_t mode, uint32_t count, uint64_t now)
{
    pit_write(&pit, 0x43, channel << 6 | 0x30 | mode << 1, now);
    pit_write(&pit, 0x40 + channel, count & 0xff, now);
    pit_write(&pit, 0x40 + channel, count >> 8, now);
}

static void test_periodic(void)
{
    pit_init(&pit);
    CHECK(pit.next == PIT_NEVER);
    uint64_t start = 12345678901ul;
    program(0, 2, 4773, start); /* 250 Hz */
    for (uint64_t k = 1; k <= 100000; k++) {
        double exact = (double)k * 4773 * 1e9 / PIT_HZ;
        uint64_t at = pit.next - start;
        CHECK(at >= exact - 1000 && at <= exact + 1000); /* no drift: a microsecond after 400 s */
        CHECK(pit_expire(&pit, pit.next - 1) == 0 && pit_expire(&pit, pit.next) == 1);
    }
    CHECK(pit_expire(&pit, start + 500000000000ul) == 1); /* 25,000 missed edges are one */
    CHECK(pit_expire(&pit, start + 500000000000ul) == 0);
    CHECK(pit.next > start + 500000000000ul && pit.next <= start + 500000000000ul + 4000153ul);
}

/* However short the period, edges leave time between them. */
static void test_rate(void)
{
    program(0, 2, 2, 0);
    for (uint64_t now = 0; now < 100 * PERIOD_LEAST_NS;) {
        CHECK(pit.next >= now + PERIOD_LEAST_NS);
        now = pit.next;
        CHECK(pit_expire(&pit, now) == 1);
    }
}

static void test_one_shot(void)
{
    pit_init(&pit);
    for (uint32_t mode = 0; mode <= 4; mode += 4) {
        program(0, mode, 1193, 1000);
        CHECK(pit.next >= 1000 + 999800 && pit.next <= 1000 + 1000000);
        CHECK(pit_expire(&pit, 2000000) == 1 && pit.next == PIT_NEVER);
        program(0, mode, 0, 0); /* 0 is 65536 */
        CHECK(pit.next >= 54925000 && pit.next <= 54926000);
        pit_write(&pit, 0x43, 0x30, 5);
        CHECK(pit.next == PIT_NEVER); /* a new mode disarms */
    }
}

static void test_latch(void)
{
    pit_init(&pit);
    program(0, 2, 10000, 0);
    pit_write(&pit, 0x43, 0x00, 1000000); /* latch after 1193 ticks */
    uint32_t value = pit_read(&pit, 0x40, 2000000);
    value |= pit_read(&pit, 0x40, 3000000) << 8;
    CHECK(value == 10000 - 1193);
    pit_write(&pit, 0x43, 0xc2, 1000000); /* read back count and status of channel 0 */
    CHECK(pit_read(&pit, 0x40, 0) == (0x80 | 0x30 | 2 << 1));
    value = pit_read(&pit, 0x40, 0);
    value |= pit_read(&pit, 0x40, 0) << 8;
    CHECK(value == 10000 - 1193);
}

/* What Linux does in pit_calibrate_tsc(): channel 2 in mode 0 behind the gate, wait for the output, measure. */
static void test_calibration(void)
{
    for (uint64_t step = 700; step < 3000000; step = step * 3 / 2) { /* ns between two looks, up to being preempted */
        uint64_t now = 777;
        pit_init(&pit);
        pit_write(&pit, 0x61, (pit_read(&pit, 0x61, now) & ~2u) | 1, now);
        uint32_t latch = PIT_HZ / 100;
        program(2, 0, latch, now);
        uint64_t start = now;
        while ((pit_read(&pit, 0x61, now) & 0x20) == 0) {
            now += step;
        }
        CHECK(now - start >= 9999000 && now - start <= 10001000 + step);
    }
}

static void test_random(void)
{
    static const uint32_t ports[] = {0x40, 0x41, 0x42, 0x43, 0x61};
    uint64_t now = 0;
    pit_init(&pit);
    for (unsigned i = 0; i < 1000000; i++) {
        unsigned r = (unsigned)rand();
        now += r % 5000;
        if (r & 0x10000) {
            pit_write(&pit, ports[r % 5], r >> 8 & 0xff, now);
        } else if (r & 0x20000) {
            CHECK(pit_read(&pit, ports[r % 5], now) <= 0xff);
        } else {
            pit_expire(&pit, now);
            CHECK(pit.next > now);
        }
    }
}

int main(void)
{
    test_periodic();
    test_rate();
    test_one_shot();
    test_latch();
    test_calibration();
    test_random();
    return 0;
}
