/* The greatest common divisor by shifts and subtractions.
 * Inputs: two numbers of which six bits count. Cases: all pairs. */
#include "program.h"

const uint32_t cases = 4096;

void prepare(uint32_t number)
{
    arguments[0] = number & 63;
    arguments[1] = number >> 6;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t a = first & 63, b = second & 63, shift = 0;
    if (a == 0 || b == 0)
        return a | b;
    while (!((a | b) & 1)) {
        a >>= 1;
        b >>= 1;
        shift++;
    }
    while (!(a & 1))
        a >>= 1;
    do {
        while (!(b & 1))
            b >>= 1;
        if (a > b) {
            uint32_t c = a;
            a = b;
            b = c;
        }
        b -= a;
    } while (b > 0);
    return a << shift;
}
