/* The clock: every day of 130 years against the C library, both notations, setting the time. */
#define _POSIX_C_SOURCE 200809L
#include "../devices/rtc.c"

#include <time.h>

#include "../../libc/tests/check.h"

static struct rtc rtc;

static uint32_t reg(uint32_t index, uint64_t now)
{
    rtc_write(&rtc, 0x70, index, now);
    return rtc_read(&rtc, 0x71, now);
}

static void set(uint32_t index, uint32_t value, uint64_t now)
{
    rtc_write(&rtc, 0x70, index, now);
    rtc_write(&rtc, 0x71, value, now);
}

static uint32_t bcd(int value)
{
    return (uint32_t)(value / 10 << 4 | value % 10);
}

int main(void)
{
    for (uint64_t day = 0; day < 365 * 130; day++) {
        time_t t = (time_t)(day * 86400 + day % 86400);
        struct tm tm;
        gmtime_r(&t, &tm);
        rtc_init(&rtc, (uint64_t)t - 5);
        uint64_t now = 5999999999ul;
        CHECK(reg(0, now) == bcd(tm.tm_sec) && reg(2, now) == bcd(tm.tm_min) && reg(4, now) == bcd(tm.tm_hour));
        CHECK(reg(6, now) == (uint32_t)tm.tm_wday + 1 && reg(7, now) == bcd(tm.tm_mday));
        CHECK(reg(8, now) == bcd(tm.tm_mon + 1) && reg(9, now) == bcd(tm.tm_year % 100));
        CHECK(reg(0x32, now) == bcd(19 + tm.tm_year / 100));
        struct civil c = to_civil((uint64_t)t);
        CHECK(from_civil(&c) == (uint64_t)t);
    }
    rtc_init(&rtc, 1767225600); /* 2026-01-01 00:00:00 */
    CHECK((reg(0x0a, 0) & 0x80) == 0 && reg(0x0d, 0) == 0x80);
    set(0x0b, 0x04, 0); /* binary, 12 hours */
    CHECK(reg(4, 0) == 12 && reg(4, 13 * 3600 * 1000000000ul) == (1 | 0x80) && reg(9, 0) == 26);
    set(0x0b, 0x06, 0);
    set(4, 17, 3000000000ul);
    set(2, 45, 3000000000ul);
    set(8, 2, 3000000000ul);
    set(7, 29, 3000000000ul); /* 2026 has none: March 1 */
    CHECK(reg(4, 3000000000ul) == 17 && reg(2, 3000000000ul) == 45 && reg(0, 3000000000ul) == 3);
    CHECK(reg(8, 0) == 3 && reg(7, 0) == 1);
    set(0x40, 0x5a, 0);
    CHECK(reg(0x40, 0) == 0x5a);
    for (unsigned i = 0; i < 200000; i++) {
        unsigned r = (unsigned)rand();
        set(r & 0x7f, r >> 8 & 0xff, r);
        CHECK(reg(r >> 16 & 0x7f, r) <= 0xff);
    }
    return 0;
}
