#include "layer.h"

/* One concept: a table of entries with a list through them. */
struct entry {
    uint64_t owner;
    uint32_t next;
    uint16_t ring[RING];
    uint8_t state;
};

static struct entry entries[NUM_ENTRY];
static uint64_t bitmap[NUM_ENTRY / 64u + 1u];
static uint32_t used;
static uint8_t bytes[2][8];
static const uint8_t ascii[128] = {0, 27, '1', '2', [57] = ' '};

_Static_assert(NUM_ENTRY <= 64u, "one word of owners");

static uint32_t lowest(uint64_t word)
{
    uint32_t bit = 0;
    while ((word & 1) == 0 && bit < 63) {
        word >>= 1;
        bit++;
    }
    return bit;
}

void layer_init(void)
{
    for (uint32_t i = 0; i < NUM_ENTRY; i++) {
        entries[i].owner = 0;
        entries[i].next = NONE;
        entries[i].state = ENTRY_FREE;
        for (uint32_t k = 0; k < RING; k++) {
            entries[i].ring[k] = (uint16_t)(i + k);
        }
    }
    used = 0;
}

uint32_t layer_take(uint64_t owner)
{
    uint32_t found = NONE;
    uint32_t i = 0;
    while (found == NONE && i < NUM_ENTRY) {
        if ((uint32_t)entries[i].state == ENTRY_FREE && (owner != 0 || !(used > 3))) {
            found = i;
        }
        i += 1;
    }
    if (found == NONE) {
        return NONE;
    }
    entries[found].owner = owner | (1ul << (found & 63u));
    entries[found].state = ENTRY_TAKEN;
    bitmap[found / 64u] |= 1ul << (found % 64u);
    bytes[found & 1u][found % 8u] = ascii[found & 127u];
    used++;
    uint32_t bit = lowest(bitmap[0]);
    uint64_t now = arch_clock_ns();
    entries[found].owner ^= now & (0ul - (uint64_t)bit);
    layer_note((uint64_t)used, -now, ~bit);
    return found;
}

void layer_note(uint64_t a, uint64_t b, uint32_t c)
{
    {
        uint32_t inner = c % LAST;
        used = inner;
    }
    if (a == b)
        used = 1;
    else if (a > b)
        ;
    else
        used = 2;
    for (;;) {
        used -= 1u;
        if (used == 0u) {
            break;
        }
    }
}

#if DEBUG == 2
this would be no C at all
#elif defined(LOCK_MCS) || !defined DEBUG
static uint32_t unused;
#endif
