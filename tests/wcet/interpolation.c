/* A table looked through for the interval of a number, and a line between its ends.
 * Inputs: any number. Cases: every end of an interval and its neighbours; the search runs to the interval. */
#include "program.h"

enum { POINTS = 8 };
static const struct {
    int16_t x, y;
} points[POINTS] = {{-200, 5}, {-50, 9}, {-3, 40}, {0, 41}, {20, 60}, {21, 61}, {300, 400}, {900, 20}};

const uint32_t cases = 3 * POINTS;

void prepare(uint32_t number)
{
    arguments[0] = (uint32_t)(points[number / 3].x + (int32_t)(number % 3) - 1);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    int32_t x = (int16_t)first;
    if (x <= points[0].x)
        return (uint32_t)points[0].y;
    uint32_t i = 1;
    while (i < POINTS && points[i].x < x)
        i++;
    if (i == POINTS)
        return (uint32_t)points[POINTS - 1].y;
    int32_t wide = points[i].x - points[i - 1].x, high = points[i].y - points[i - 1].y, part = 0;
    for (int32_t rest = (x - points[i - 1].x) * (high < 0 ? -high : high); rest >= wide && part < 16; rest -= wide)
        part++;
    return (uint32_t)(points[i - 1].y + (high < 0 ? -part : part));
}
