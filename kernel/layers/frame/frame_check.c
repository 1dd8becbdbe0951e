/* The invariant walk over frames. Part of frame.c in debug builds. Requires that nothing changes meanwhile. */

static uint32_t frame_count[NUM_PROCESS]; /* owned frames of each process */

/* Counts frame's owners into frame_count. */
static void frame_count_owners(uint32_t frame)
{
    uint64_t owners = frame_owner[frame];
    while (owners != 0ul) {
        uint32_t p = arch_highest_bit(owners);
        frame_count[p] = frame_count[p] + 1u;
        owners = owners & ~(1ul << p);
    }
}

/* The invariant of one frame. */
static uint32_t frame_check_one(uint32_t frame)
{
    uint32_t kind = (uint32_t)frame_kind[frame];
    uint32_t in_map = frame_map_has(frame);
    if (kind > FRAME_ALLOCATED) {
        return 4u;
    }
    if (in_map == 1u && kind != FRAME_FREE) {
        return 5u;
    }
    if (in_map == 0u && kind == FRAME_FREE) {
        return 6u;
    }
    if (kind == FRAME_ALLOCATED && frame_owner[frame] == 0ul) {
        return 7u;
    }
    if (kind != FRAME_ALLOCATED && frame_owner[frame] != 0ul) {
        return 8u;
    }
    return 0u;
}

uint32_t frame_check(void)
{
    uint32_t free = 0u;
    uint32_t broken = frame_map_check();
    if (broken != 0u) {
        return broken;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        frame_count[p] = 0u;
    }
    uint32_t limit = arch_frame_limit();
    for (uint32_t frame = 0u; frame < limit; frame = frame + 1u) {
        broken = frame_check_one(frame);
        if (broken != 0u) {
            return broken;
        }
        if ((uint32_t)frame_kind[frame] == FRAME_FREE) {
            free = free + 1u;
        }
        frame_count_owners(frame);
    }
    if (free != frame_free[0]) {
        return 9u;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        uint32_t used = container_own_usage(p);
        if (used != frame_count[p]) {
            return 10u;
        }
    }
    return 0u;
}
