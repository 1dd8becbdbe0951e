/* The MC146818. The time registers are computed when read; writing them moves the epoch. */
#include "devices/rtc.h"

#define REGISTER_A 0x0au
#define REGISTER_B 0x0bu
#define REGISTER_C 0x0cu
#define REGISTER_D 0x0du
#define REGISTER_CENTURY 0x32u
#define B_24_HOURS 0x02u
#define B_BINARY 0x04u

struct civil {
    uint32_t year, month, day, hour, minute, second, weekday;
};

/* Days since 1970-01-01 to a date and back, by eras of 400 years that begin in March, so that the leap day is last. */
static struct civil to_civil(uint64_t seconds)
{
    uint64_t days = seconds / 86400 + 719468;
    uint32_t of_day = (uint32_t)(seconds % 86400);
    uint32_t era = (uint32_t)(days / 146097), doe = (uint32_t)(days % 146097);
    uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    uint32_t month = (5 * doy + 2) / 153;
    struct civil c = {
        .day = doy - (153 * month + 2) / 5 + 1,
        .month = month < 10 ? month + 3 : month - 9,
        .hour = of_day / 3600,
        .minute = of_day / 60 % 60,
        .second = of_day % 60,
        .weekday = (uint32_t)((seconds / 86400 + 4) % 7),
    };
    c.year = yoe + era * 400 + (c.month <= 2);
    return c;
}

static uint64_t from_civil(const struct civil *c)
{
    uint32_t year = c->year - (c->month <= 2);
    uint32_t era = year / 400, yoe = year % 400;
    uint32_t doy = (153 * (c->month > 2 ? c->month - 3 : c->month + 9) + 2) / 5 + c->day - 1;
    uint64_t days = (uint64_t)era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    return days * 86400 + c->hour * 3600 + c->minute * 60 + c->second;
}

static uint32_t encode(const struct rtc *rtc, uint32_t value)
{
    return rtc->ram[REGISTER_B] & B_BINARY ? value : value / 10 << 4 | value % 10;
}

static uint32_t decode(const struct rtc *rtc, uint32_t value)
{
    return rtc->ram[REGISTER_B] & B_BINARY ? value : (value >> 4) * 10 + (value & 15);
}

void rtc_init(struct rtc *rtc, uint64_t epoch)
{
    *rtc = (struct rtc){.epoch = epoch};
    rtc->ram[REGISTER_A] = 0x26;
    rtc->ram[REGISTER_B] = B_24_HOURS;
    rtc->ram[REGISTER_D] = 0x80; /* the battery is good */
}

static struct civil now_civil(const struct rtc *rtc, uint64_t now)
{
    return to_civil(rtc->epoch + now / 1000000000ul);
}

uint32_t rtc_read(struct rtc *rtc, uint32_t port, uint64_t now)
{
    if ((port & 1) == 0) {
        return rtc->index;
    }
    struct civil c = now_civil(rtc, now);
    switch (rtc->index) {
    case 0:
        return encode(rtc, c.second);
    case 2:
        return encode(rtc, c.minute);
    case 4:
        if (rtc->ram[REGISTER_B] & B_24_HOURS) {
            return encode(rtc, c.hour);
        }
        return encode(rtc, (c.hour + 11) % 12 + 1) | (c.hour >= 12 ? 0x80u : 0u);
    case 6:
        return encode(rtc, c.weekday + 1);
    case 7:
        return encode(rtc, c.day);
    case 8:
        return encode(rtc, c.month);
    case 9:
        return encode(rtc, c.year % 100);
    case REGISTER_CENTURY:
        return encode(rtc, c.year / 100);
    case REGISTER_C:
        return 0;
    default:
        return rtc->ram[rtc->index];
    }
}

/* Changes one time register: the date with that field replaced becomes the present. */
static void set_time(struct rtc *rtc, uint32_t value, uint64_t now)
{
    struct civil c = now_civil(rtc, now);
    uint32_t plain = decode(rtc, rtc->index == 4 ? value & 0x7f : value);
    switch (rtc->index) {
    case 0:
        c.second = plain;
        break;
    case 2:
        c.minute = plain;
        break;
    case 4:
        c.hour = plain;
        if ((rtc->ram[REGISTER_B] & B_24_HOURS) == 0) {
            c.hour = plain % 12 + (value & 0x80 ? 12 : 0);
        }
        break;
    case 7:
        c.day = plain;
        break;
    case 8:
        c.month = plain;
        break;
    case 9:
        c.year = c.year / 100 * 100 + plain;
        break;
    case REGISTER_CENTURY:
        c.year = plain * 100 + c.year % 100;
        break;
    default: /* the weekday follows from the date */
        return;
    }
    if (c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= 31 && c.year >= 1970 && c.year < 9999 && c.hour < 24 &&
        c.minute < 60 && c.second < 60) {
        rtc->epoch = from_civil(&c) - now / 1000000000ul;
    }
}

void rtc_write(struct rtc *rtc, uint32_t port, uint32_t value, uint64_t now)
{
    value &= 0xff;
    if ((port & 1) == 0) {
        rtc->index = value & 0x7f; /* bit 7 gates NMI, which does not exist here */
        return;
    }
    switch (rtc->index) {
    case 0:
    case 2:
    case 4:
    case 6:
    case 7:
    case 8:
    case 9:
    case REGISTER_CENTURY:
        set_time(rtc, value, now);
        break;
    case REGISTER_A:
        rtc->ram[REGISTER_A] = (uint8_t)(value & 0x7f); /* never "update in progress" */
        break;
    case REGISTER_C:
    case REGISTER_D:
        break;
    default:
        rtc->ram[rtc->index] = (uint8_t)value;
        break;
    }
}
