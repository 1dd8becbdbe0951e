/* Sums and products of digits, with parentheses, by an operator stack in memory.
 * Inputs: nine letters; anything else than digits, operators and parentheses ends the reading. Cases: formulas with
 * every depth and every number of operators waiting; what is popped at once is at most what one formula of rising
 * priorities pushed, which is among them. */
#include "program.h"

enum { LENGTH = 9, DEEPEST = 10 };
char text[LENGTH];

const uint32_t cases = 8 * (LENGTH + 1);

void prepare(uint32_t number)
{
    static const char samples[8][LENGTH + 1] = {"1+2*3+4*5", "(1+2)*(3)", "((((1))))", "1+2+3+4+5", "(((((((((",
                                                "1*2*3+4*5", "(1+2*(3))", "1+(2*(3)+"};
    for (uint32_t i = 0; i < LENGTH; i++)
        text[i] = number / 8 == i ? 0 : samples[number % 8][i];
}

static uint32_t priority(char operator)
{
    return operator == '*' ? 2 : operator == '+' ? 1 : 0;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t values[DEEPEST] = {0}, value_count = 0;
    char operators[DEEPEST] = {0};
    uint32_t operator_count = 0;
    for (uint32_t i = 0; i <= LENGTH; i++) {
        char letter = i < LENGTH ? text[i] : ')';
        if (letter >= '0' && letter <= '9') {
            values[value_count++] = (uint32_t)(letter - '0');
        } else if (letter == '(') {
            operators[operator_count++] = letter;
        } else if (priority(letter) > 0 || letter == ')') {
            while (operator_count > 0 && operators[operator_count - 1] != '(' &&
                   priority(operators[operator_count - 1]) >= priority(letter)) {
                operator_count--;
                if (value_count >= 2) {
                    uint32_t right = values[--value_count];
                    uint32_t *left = &values[value_count - 1];
                    *left = operators[operator_count] == '*' ? *left * right : *left + right;
                }
            }
            if (letter != ')')
                operators[operator_count++] = letter;
            else if (operator_count > 0)
                operator_count--;
        } else {
            break;
        }
    }
    return values[0];
}
