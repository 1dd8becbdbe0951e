/* The invariant walk over nested page maps. Part of npt.c in debug builds. */

/* 1 if process p is an owner of the frame that entry names, else 0. */
static uint32_t npt_owns(uint32_t p, uint64_t entry)
{
    uint32_t frame = arch_nested_frame(entry);
    if (frame >= NUM_FRAME) {
        return 0u;
    }
    uint64_t owners = frame_owners(frame);
    uint64_t own = (owners >> p) & 1ul;
    return (uint32_t)own;
}

/* Every entry of a lowest table names a frame of p. */
static uint32_t npt_check_leaves(uint32_t p, uint32_t table)
{
    for (uint32_t index = 0u; index < FRAME_WORDS; index = index + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            uint32_t own = npt_owns(p, entry);
            if (own == 0u) {
                return 3u;
            }
        }
    }
    return 0u;
}

/* Walks the tables of levels 2 and 1 below one table of level 2. */
static uint32_t npt_check_middle(uint32_t p, uint32_t table)
{
    for (uint32_t i = 0u; i < FRAME_WORDS; i = i + 1u) {
        uint64_t upper = arch_frame_read(table, i);
        if (upper != 0ul) {
            uint32_t own = npt_owns(p, upper);
            if (own == 0u) {
                return 2u;
            }
            uint32_t middle = arch_nested_frame(upper);
            for (uint32_t j = 0u; j < FRAME_WORDS; j = j + 1u) {
                uint64_t lower = arch_frame_read(middle, j);
                if (lower != 0ul) {
                    uint32_t own_lower = npt_owns(p, lower);
                    if (own_lower == 0u) {
                        return 2u;
                    }
                    uint32_t lowest = arch_nested_frame(lower);
                    uint32_t broken = npt_check_leaves(p, lowest);
                    if (broken != 0u) {
                        return broken;
                    }
                }
            }
        }
    }
    return 0u;
}

uint32_t npt_check(void)
{
    for (uint32_t vm = 0u; vm < NUM_VM; vm = vm + 1u) {
        if (npt[vm].exists != NPT_NONE) {
            uint32_t p = npt[vm].process;
            uint32_t root = npt[vm].root;
            if (p >= NUM_PROCESS || root >= NUM_FRAME) {
                return 1u;
            }
            for (uint32_t i = 0u; i < FRAME_WORDS; i = i + 1u) {
                uint64_t entry = arch_frame_read(root, i);
                if (entry != 0ul) {
                    uint32_t own = npt_owns(p, entry);
                    if (own == 0u) {
                        return 2u;
                    }
                    uint32_t table = arch_nested_frame(entry);
                    uint32_t broken = npt_check_middle(p, table);
                    if (broken != 0u) {
                        return broken;
                    }
                }
            }
        }
    }
    return 0u;
}
