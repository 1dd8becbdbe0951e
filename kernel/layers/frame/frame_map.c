/* The bitmap of free frames: a bit per frame, and three levels of summaries, in which a bit says that the word below it
 * is not 0. Finding, inserting and removing touch one word per level. */
#include "arch.h"
#include "frame.h"
#include "frame_parts.h"

/* Levels 0 (frames) to 3 (one word). Each word summarises 64 words of the level below. */
#define FRAME_MAP_WORDS_0 (NUM_FRAME / 64u)
#define FRAME_MAP_WORDS_1 (FRAME_MAP_WORDS_0 / 64u)
#define FRAME_MAP_WORDS_2 ((FRAME_MAP_WORDS_1 + 63u) / 64u)

/* All guarded by LOCK_FRAME. */
static uint64_t frame_map_0[FRAME_MAP_WORDS_0];
static uint64_t frame_map_1[FRAME_MAP_WORDS_1];
static uint64_t frame_map_2[FRAME_MAP_WORDS_2];
static uint64_t frame_map_3[1];

void frame_map_init(void)
{
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_0; i = i + 1u) {
        frame_map_0[i] = 0ul;
    }
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_1; i = i + 1u) {
        frame_map_1[i] = 0ul;
    }
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_2; i = i + 1u) {
        frame_map_2[i] = 0ul;
    }
    frame_map_3[0] = 0ul;
}

void frame_map_insert(uint32_t frame)
{
    uint32_t word0 = frame / 64u;
    uint32_t word1 = word0 / 64u;
    uint32_t word2 = word1 / 64u;
    frame_map_0[word0] = frame_map_0[word0] | (1ul << (frame % 64u));
    frame_map_1[word1] = frame_map_1[word1] | (1ul << (word0 % 64u));
    frame_map_2[word2] = frame_map_2[word2] | (1ul << (word1 % 64u));
    frame_map_3[0] = frame_map_3[0] | (1ul << word2);
}

void frame_map_remove(uint32_t frame)
{
    uint32_t word0 = frame / 64u;
    uint32_t word1 = word0 / 64u;
    uint32_t word2 = word1 / 64u;
    frame_map_0[word0] = frame_map_0[word0] & ~(1ul << (frame % 64u));
    if (frame_map_0[word0] == 0ul) {
        frame_map_1[word1] = frame_map_1[word1] & ~(1ul << (word0 % 64u));
    }
    if (frame_map_1[word1] == 0ul) {
        frame_map_2[word2] = frame_map_2[word2] & ~(1ul << (word1 % 64u));
    }
    if (frame_map_2[word2] == 0ul) {
        frame_map_3[0] = frame_map_3[0] & ~(1ul << word2);
    }
}

uint32_t frame_map_find(void)
{
    if (frame_map_3[0] == 0ul) {
        return NONE;
    }
    uint32_t word2 = arch_highest_bit(frame_map_3[0]);
    uint32_t bit2 = arch_highest_bit(frame_map_2[word2]);
    uint32_t word1 = word2 * 64u + bit2;
    uint32_t bit1 = arch_highest_bit(frame_map_1[word1]);
    uint32_t word0 = word1 * 64u + bit1;
    uint32_t bit0 = arch_highest_bit(frame_map_0[word0]);
    return word0 * 64u + bit0;
}

#if DEBUG
#include "frame_map_check.c"
#endif
