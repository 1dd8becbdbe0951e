/* What the service is asked, at end point `calendar`. Word 0 of a request says what; the answer is in the words that follow from
 * word 0 on. The service has the same numbers in src/calendar/src/lib.rs. */
#ifndef REQUESTS_H
#define REQUESTS_H

#define CALENDAR_PING 0u /* the same words */
#define CALENDAR_NOW 1u  /* year, month, day, weekday (0 is Sunday), seconds of the day; no words if there is no time */

#endif
