/* The driver of the clock chip (MC146818, at ports 0x70 and 0x71), which the description gives to this process alone. Its client
 * asks by the protocol `clock`. */
#include "ashlar/driver.h"
#include "clock_protocol.h"

#define INDEX 0u /* ports of the device */
#define DATA 1u
#define SECOND 0u
#define MINUTE 2u
#define HOUR 4u
#define DAY 7u
#define MONTH 8u
#define YEAR 9u
#define STATUS_A 10u
#define STATUS_A_UPDATING 0x80u
#define STATUS_B 11u
#define STATUS_B_BINARY 4u
#define NUM_TRY 1000u

const struct driver_ports driver_ports = {"rtc", 2};

static uint8_t read_register(uint8_t index)
{
    port_write8(INDEX, index);
    return port_read8(DATA);
}

static void read_all(struct clock_time *time)
{
    time->second = read_register(SECOND);
    time->minute = read_register(MINUTE);
    time->hour = read_register(HOUR);
    time->day = read_register(DAY);
    time->month = read_register(MONTH);
    time->year = read_register(YEAR);
}

static uint32_t is_same(const struct clock_time *a, const struct clock_time *b)
{
    return a->second == b->second && a->minute == b->minute && a->hour == b->hour && a->day == b->day &&
           a->month == b->month && a->year == b->year;
}

static uint8_t from_bcd(uint8_t value)
{
    return (uint8_t)((value >> 4) * 10u + (value & 15u));
}

static void decode(struct clock_time *time)
{
    time->second = from_bcd(time->second);
    time->minute = from_bcd(time->minute);
    time->hour = from_bcd(time->hour);
    time->day = from_bcd(time->day);
    time->month = from_bcd(time->month);
    time->year = from_bcd(time->year);
}

/* The chip counts on while it is read: only what is read twice alike, and not during an update, is a time. */
static uint32_t read_time(struct clock_time *time)
{
    for (uint32_t i = 0; i < NUM_TRY; i++) {
        struct clock_time again = {0};
        if ((read_register(STATUS_A) & STATUS_A_UPDATING) == 0) {
            read_all(time);
            read_all(&again);
            if (is_same(time, &again)) {
                return 1;
            }
        }
    }
    return 0;
}

/* The protocol's ranges: a chip without a battery says anything. */
static uint32_t is_time(const struct clock_time *time)
{
    return time->second <= 59u && time->minute <= 59u && time->hour <= 23u && time->day >= 1u && time->day <= 31u &&
           time->month >= 1u && time->month <= 12u && time->year <= 99u;
}

void driver(void)
{
    for (;;) {
        struct clock_time time = {0};
        AWAIT(CLOCK_READ);
        uint32_t is_read = read_time(&time);
        if (is_read && (read_register(STATUS_B) & STATUS_B_BINARY) == 0) {
            decode(&time);
        }
        if (is_read && is_time(&time)) {
            EMIT(CLOCK_TIME, 0, &time);
        } else {
            EMIT(CLOCK_FAILED);
        }
    }
}

const struct protocol *const driver_protocols[] = {&clock_protocol, 0};
