/* Work given out by a table of functions, each with a loop of its own.
 * Inputs: six kinds of work, two bits of each count. Cases: all. */
#include "program.h"

enum { JOBS = 6 };
uint8_t kinds[JOBS];
static uint32_t sum;

const uint32_t cases = 4096;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < JOBS; i++)
        kinds[i] = (uint8_t)(number >> 2 * i & 3);
}

static void nothing(uint32_t size)
{
    sum ^= size;
}

static void count_up(uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        sum += sum >> i;
}

static void count_down(uint32_t size)
{
    for (uint32_t i = 2 * size; i > 0; i--)
        sum ^= sum << 3 ^ i;
}

static void once(uint32_t size)
{
    sum = 5 * sum + size;
}

static void (*const table[4])(uint32_t size) = {nothing, count_up, count_down, once};

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    sum = 1;
    for (uint32_t i = 0; i < JOBS; i++)
        table[kinds[i] & 3](i);
    return sum;
}
