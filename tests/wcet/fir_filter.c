/* A finite impulse response filter over a block of samples, with a delay line that is shifted.
 * Inputs: samples and delay line. The loops run equally often for all. */
#include "program.h"

enum { SAMPLES = 12, TAPS = 5 };
int16_t samples[SAMPLES], filtered[SAMPLES], delay[TAPS];
static const int16_t weights[TAPS] = {3, -9, 41, -9, 3};

const uint32_t cases = 3;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = (int16_t)(number * 900 * i);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t tap = TAPS - 1; tap > 0; tap--)
            delay[tap] = delay[tap - 1];
        delay[0] = samples[i];
        int32_t sum = 0;
        for (uint32_t tap = 0; tap < TAPS; tap++)
            sum += weights[tap] * delay[tap];
        filtered[i] = (int16_t)(sum >> 5);
    }
    return (uint32_t)filtered[0];
}
