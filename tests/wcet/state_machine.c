/* A machine that accepts numbers with a sign, digits, a fraction and an exponent.
 * Inputs: nine letters; reading ends at the first that does not fit. Cases: numbers cut off and broken at every place. */
#include "program.h"

enum { LENGTH = 9 };
enum state { START, SIGN, WHOLE, POINT, FRACTION, POWER, POWER_SIGN, DIGITS, WRONG };
char text[LENGTH];

const uint32_t cases = 3 * 2 * LENGTH + 3;

void prepare(uint32_t number)
{
    static const char samples[3][LENGTH + 1] = {"-12.5e+10", "123456789", "0.0E-1234"};
    for (uint32_t i = 0; i < LENGTH; i++)
        text[i] = samples[number % 3][i];
    if (number / 3 > 0)
        text[(number / 3 - 1) / 2] = number / 3 % 2 ? 'x' : 'e';
}

static enum state after(enum state state, char letter)
{
    uint32_t digit = letter >= '0' && letter <= '9', sign = letter == '+' || letter == '-';
    switch (state) {
    case START:
        return digit ? WHOLE : sign ? SIGN : letter == '.' ? POINT : WRONG;
    case SIGN:
        return digit ? WHOLE : letter == '.' ? POINT : WRONG;
    case WHOLE:
        return digit ? WHOLE : letter == '.' ? FRACTION : (letter | 32) == 'e' ? POWER : WRONG;
    case POINT:
        return digit ? FRACTION : WRONG;
    case FRACTION:
        return digit ? FRACTION : (letter | 32) == 'e' ? POWER : WRONG;
    case POWER:
        return digit ? DIGITS : sign ? POWER_SIGN : WRONG;
    case POWER_SIGN:
    case DIGITS:
        return digit ? DIGITS : WRONG;
    default:
        return WRONG;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    enum state state = START;
    for (uint32_t i = 0; i < LENGTH && state != WRONG; i++)
        state = after(state, text[i]);
    return state;
}
