/* The MC146818 clock and its CMOS memory: the time of day, readable. Alarms and periodic interrupts never fire.
 * Pure state: the caller passes the time. */
#ifndef VMM_RTC_H
#define VMM_RTC_H

#include <stdint.h>

struct rtc {
    uint32_t index; /* selected register */
    uint64_t epoch; /* seconds since 1970 at monitor time 0 */
    uint8_t ram[128];
};

/* `epoch`: the time of day, in seconds since 1970, at `now` = 0. */
void rtc_init(struct rtc *rtc, uint64_t epoch);
/* Ports 0x70 and 0x71. `now` in ns. */
uint32_t rtc_read(struct rtc *rtc, uint32_t port, uint64_t now);
void rtc_write(struct rtc *rtc, uint32_t port, uint32_t value, uint64_t now);

#endif
