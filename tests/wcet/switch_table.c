/* A machine for small programs in constant memory: a jump table in a loop, with a limit on steps.
 * Inputs: a number of which three bits count, which the program counts down. Cases: all. */
#include "program.h"

enum { LIMIT = 40 };
enum { LOAD, ADD, SUBTRACT, STORE, FETCH, JUMP_UNLESS_ZERO, STOP, NOTHING };
static const uint8_t program[] = {STORE, 0, LOAD, 0, STORE, 1, FETCH, 1, ADD, 3, STORE, 1,
                                  FETCH, 0, SUBTRACT, 1, STORE, 0, JUMP_UNLESS_ZERO, 6, STOP, 0};
static uint32_t cells[2];

const uint32_t cases = 8;

void prepare(uint32_t number)
{
    arguments[0] = number;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t sum = first & 7, at = 0;
    for (uint32_t step = 0; step < LIMIT; step++) {
        uint8_t operand = program[at + 1];
        switch (program[at]) {
        case LOAD:
            sum = operand;
            break;
        case ADD:
            sum += operand;
            break;
        case SUBTRACT:
            sum -= operand;
            break;
        case STORE:
            cells[operand & 1] = sum;
            break;
        case FETCH:
            sum = cells[operand & 1];
            break;
        case JUMP_UNLESS_ZERO:
            if (sum != 0)
                at = operand - 2u;
            break;
        case STOP:
            return cells[1];
        }
        at += 2;
        if (at >= sizeof program)
            break;
    }
    return 0;
}
