/* The invariant walk over the bitmap. Part of frame_map.c in debug builds. */

uint32_t frame_map_has(uint32_t frame)
{
    uint64_t bit = (frame_map_0[frame / 64u] >> (frame % 64u)) & 1ul;
    return (uint32_t)bit;
}

/* 1 if bit (index % 64) of a summary word is set exactly if the word below is not 0, else 0. */
static uint32_t frame_map_fits(uint64_t summary, uint32_t index, uint64_t below)
{
    uint64_t bit = (summary >> (index % 64u)) & 1ul;
    if (bit == 0ul && below != 0ul) {
        return 0u;
    }
    if (bit == 1ul && below == 0ul) {
        return 0u;
    }
    return 1u;
}

uint32_t frame_map_check(void)
{
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_0; i = i + 1u) {
        uint32_t fits = frame_map_fits(frame_map_1[i / 64u], i, frame_map_0[i]);
        if (fits == 0u) {
            return 1u;
        }
    }
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_1; i = i + 1u) {
        uint32_t fits = frame_map_fits(frame_map_2[i / 64u], i, frame_map_1[i]);
        if (fits == 0u) {
            return 2u;
        }
    }
    for (uint32_t i = 0u; i < FRAME_MAP_WORDS_2; i = i + 1u) {
        uint32_t fits = frame_map_fits(frame_map_3[0], i, frame_map_2[i]);
        if (fits == 0u) {
            return 3u;
        }
    }
    return 0u;
}
