/* The invariant walk over shares. Part of share.c in debug builds. */

uint32_t share_check(void)
{
    uint32_t offers = 0u;
    for (uint32_t s = 0u; s < NUM_SHARE; s = s + 1u) {
        if (share[s].offered != NONE) {
            if (share[s].from >= NUM_PROCESS || share[s].offered >= NUM_FRAME) {
                return 1u;
            }
            uint64_t owners = frame_owners(share[s].offered);
            if (((owners >> share[s].from) & 1ul) == 0ul) {
                return 2u;
            }
            offers = offers + 1u;
        }
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        if (share_offers[p] > offers) {
            return 3u;
        }
        offers = offers - share_offers[p];
    }
    if (offers != 0u) {
        return 4u;
    }
    return 0u;
}
