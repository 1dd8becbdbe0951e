/* Cascaded sections of an infinite impulse response filter, in integers that saturate.
 * Inputs: samples and the sections' states. The loops run equally often for all. */
#include "program.h"

enum { SAMPLES = 10, SECTIONS = 3 };
struct section {
    int32_t gain, feedback, state[2];
};
int32_t samples[SAMPLES];
struct section sections[SECTIONS];

const uint32_t cases = 4;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = (int32_t)(number * number * 5000 * i);
    for (uint32_t i = 0; i < SECTIONS; i++)
        sections[i] = (struct section){.gain = 70, .feedback = (int32_t)number * 11};
}

static int32_t saturated(int32_t value)
{
    return value > 32767 ? 32767 : value < -32768 ? -32768 : value;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (int32_t *sample = samples; sample != samples + SAMPLES; sample++) {
        int32_t value = *sample;
        for (struct section *section = sections; section < sections + SECTIONS; section++) {
            value = saturated((section->gain * value - section->feedback * section->state[1]) >> 6);
            section->state[1] = section->state[0];
            section->state[0] = value;
        }
        *sample = value;
    }
    return (uint32_t)samples[SAMPLES - 1];
}
