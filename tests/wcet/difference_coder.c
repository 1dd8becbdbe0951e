/* Adaptive differences of four bits, coded and decoded, with a step that grows and shrinks.
 * Inputs: eight samples. The sample loops run through; the quantiser's loop takes three rounds at most. Cases: jumps of
 * every size up and down, and none. */
#include "program.h"

enum { SAMPLES = 8, STEPS = 16 };
int16_t samples[SAMPLES], decoded[SAMPLES];
uint8_t codes[SAMPLES];
static const uint16_t steps[STEPS] = {7,  10,  14,  20,  28,  40,  56,  80,
                                      112, 160, 224, 320, 448, 640, 896, 1280};
struct predictor {
    int32_t value;
    uint32_t index;
};

const uint32_t cases = 32;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = (int16_t)((i & 1 ? -1 : 1) * (int32_t)(1u << number / 2) + (int32_t)number % 2);
}

static void follow(struct predictor *predictor, uint8_t code)
{
    int32_t step = steps[predictor->index], change = step >> 3;
    for (uint32_t bit = 4; bit > 0; bit >>= 1, step >>= 1)
        if (code & bit)
            change += step;
    predictor->value += code & 8 ? -change : change;
    if (predictor->value > 32767)
        predictor->value = 32767;
    if (predictor->value < -32768)
        predictor->value = -32768;
    if ((code & 7) >= 4)
        predictor->index = predictor->index + 2 < STEPS ? predictor->index + 2 : STEPS - 1;
    else
        predictor->index = predictor->index > 0 ? predictor->index - 1 : 0;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    struct predictor coder = {0, 0}, decoder = {0, 0};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        int32_t difference = samples[i] - coder.value;
        uint8_t code = 0;
        if (difference < 0) {
            code = 8;
            difference = -difference;
        }
        int32_t step = steps[coder.index];
        for (uint8_t bit = 4; bit > 0; bit >>= 1, step >>= 1) {
            if (difference >= step) {
                code |= bit;
                difference -= step;
            }
        }
        codes[i] = code;
        follow(&coder, code);
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        follow(&decoder, codes[i]);
        decoded[i] = (int16_t)decoder.value;
    }
    return (uint32_t)decoded[SAMPLES - 1];
}
