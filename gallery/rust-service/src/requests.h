/* What the service and the driver of the clock chip are asked. Word 0 of a request says what; the answer is in the words that
 * follow from word 0 on. The service has the same numbers in src/calendar/src/lib.rs. */
#ifndef REQUESTS_H
#define REQUESTS_H

/* Of the service, at end point `calendar`. */
#define CALENDAR_PING 0u /* the same words */
#define CALENDAR_NOW 1u  /* year, month, day, weekday (0 is Sunday), seconds of the day */

/* Of the driver, at end point `clock_chip`: the registers, as numbers: second, minute, hour, day, month, year of the century. */
#define CHIP_WORDS 6u

#endif
