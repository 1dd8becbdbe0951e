#ifndef LAYER_H
#define LAYER_H

#include <stdint.h>

#include "arch.h"

#define NUM_ENTRY 64u
#define RING 4
#define NONE 0xffffffffu
#define LAST (NUM_ENTRY - 1)
#define WORDS ((uint64_t)NUM_ENTRY * 8)

enum entry_state { ENTRY_FREE, ENTRY_TAKEN, ENTRY_LAST = 7 };

void layer_init(void);
uint32_t layer_take(uint64_t owner);
void layer_note(uint64_t a, uint64_t b, uint32_t c);

#endif
