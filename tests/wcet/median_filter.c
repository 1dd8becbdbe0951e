/* A filter that takes the median of each window, sorted by insertion.
 * Inputs: eight samples; the loops only compare them, within each window of five. Cases: all 5! orders of the first
 * window, which comes first; a later window can be no worse than the worst order. */
#include "program.h"

enum { SAMPLES = 8, WINDOW = 5 };
int32_t samples[SAMPLES], filtered[SAMPLES];

const uint32_t cases = 120;

void prepare(uint32_t number)
{
    uint8_t numbers[WINDOW];
    order(number, WINDOW, numbers);
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = numbers[i % WINDOW];
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t start = 0; start + WINDOW <= SAMPLES; start++) {
        int32_t window[WINDOW];
        for (uint32_t i = 0; i < WINDOW; i++) {
            int32_t sample = samples[start + i];
            int32_t j = (int32_t)i - 1;
            for (; j >= 0 && window[j] > sample; j--)
                window[j + 1] = window[j];
            window[j + 1] = sample;
        }
        filtered[start] = window[WINDOW / 2];
    }
    return (uint32_t)filtered[0];
}
