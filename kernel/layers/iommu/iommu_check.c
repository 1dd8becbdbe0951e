/* The invariant walk over domains and their tables. Part of iommu.c in debug builds. */

/* 1 if p is an owner of the frame. */
static uint32_t iommu_owns(uint32_t p, uint32_t frame)
{
    uint64_t owners = frame_owners(frame);
    uint64_t own = (owners >> p) & 1ul;
    return (uint32_t)own;
}

/* Every entry of a table names a frame of p. Returns 0 or the broken rule. */
static uint32_t iommu_check_table(uint32_t p, uint32_t table)
{
    for (uint32_t index = 0u; index < FRAME_WORDS; index = index + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            uint32_t frame = arch_iommu_frame(entry);
            uint32_t own = iommu_owns(p, frame);
            if (own == 0u) {
                return 1u;
            }
        }
    }
    return 0u;
}

/* The tables below a level 2 table, the highest that can have more than one entry: all frames lie below 4 GiB. */
static uint32_t iommu_check_below(uint32_t p, uint32_t table)
{
    uint32_t broken = iommu_check_table(p, table);
    for (uint32_t i = 0u; i < FRAME_WORDS && broken == 0u; i = i + 1u) {
        uint64_t upper = arch_frame_read(table, i);
        if (upper != 0ul) {
            uint32_t middle = arch_iommu_frame(upper);
            broken = iommu_check_table(p, middle);
            for (uint32_t k = 0u; k < FRAME_WORDS && broken == 0u; k = k + 1u) {
                uint64_t lower = arch_frame_read(middle, k);
                if (lower != 0ul) {
                    uint32_t lowest = arch_iommu_frame(lower);
                    broken = iommu_check_table(p, lowest);
                }
            }
        }
    }
    return broken;
}

uint32_t iommu_check(void)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t broken = 0u;
    for (uint32_t p = 0u; p < NUM_PROCESS && broken == 0u; p = p + 1u) {
        uint32_t table = iommu_domain[p].root;
        if (table != NONE) {
            uint32_t own = iommu_owns(p, table);
            if (own == 0u) {
                return 2u;
            }
            if (levels == 4u) {
                broken = iommu_check_table(p, table);
                uint64_t first = arch_frame_read(table, 0u);
                table = arch_iommu_frame(first);
            }
            if (broken == 0u && table != 0u) {
                broken = iommu_check_below(p, table);
            }
        } else if (iommu_domain[p].attached != 0u) {
            return 3u;
        }
    }
    return broken;
}
