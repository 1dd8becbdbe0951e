/* What tank and regulator agree on. A request has one word, how far the valve is open; the answer has one, the level. */
#ifndef TANK_H
#define TANK_H

#define PERIOD 10000000ul   /* ns from one request to the next */
#define VALVE_OPEN 1000u    /* per mille */
#define LEVEL_FULL 1000000u /* micrometres */

#endif
