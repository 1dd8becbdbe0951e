/* What a program of the set gives, and what it may use.
 *
 * The function that is analysed is `entry`. The analysis takes registers and memory at its start for anything; so the
 * cases that `prepare` makes, 0 to `cases` - 1, must contain for each loop one with the most iterations that any such
 * state allows. Each program says why that is so. */
#pragma once
#include <stdint.h>

#define ENTRY __attribute__((noipa))
#define NOINLINE __attribute__((noinline))

extern const uint32_t cases;
extern uint32_t arguments[2];
void prepare(uint32_t number);
uint32_t entry(uint32_t first, uint32_t second);

/* For prepare: the order number `number` of 0 to count - 1, of count! in all. */
void order(uint32_t number, uint32_t count, uint8_t *numbers);
