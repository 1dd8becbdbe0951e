/* The invariant walk over page maps. Part of pagemap.c in debug builds. */

/* 1 if p owns the frame that entry names, else 0. */
static uint32_t pagemap_owns(uint32_t p, uint64_t entry)
{
    uint32_t frame = pagemap_entry_frame(entry);
    uint64_t owners = frame_owners(frame);
    uint64_t own = (owners >> p) & 1ul;
    return (uint32_t)own;
}

/* Leaf entries: user pages, marked as the processor would, never both writable and executable, owned ones of frames that p
 * owns. */
static uint32_t pagemap_check_leaf(uint32_t p, uint64_t entry)
{
    if ((entry & ARCH_PTE_PRESENT) == 0ul || (entry & ARCH_PTE_USER) == 0ul) {
        return 1u;
    }
    if ((entry & ARCH_PTE_ACCESSED) == 0ul || (entry & ARCH_PTE_DIRTY) == 0ul) {
        return 1u;
    }
    if ((entry & ARCH_PTE_WRITE) != 0ul && (entry & ARCH_PTE_NO_EXECUTE) == 0ul) {
        return 2u;
    }
    if ((entry & ARCH_PTE_OWNED) != 0ul) {
        uint32_t own = pagemap_owns(p, entry);
        if (own == 0u) {
            return 3u;
        }
    }
    return 0u;
}

static uint32_t pagemap_check_leaves(uint32_t p, uint32_t table)
{
    for (uint32_t i = 0u; i < FRAME_WORDS; i = i + 1u) {
        uint64_t entry = arch_frame_read(table, i);
        if (entry != 0ul) {
            uint32_t broken = pagemap_check_leaf(p, entry);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    return 0u;
}

/* Entries of a table of level 1. */
static uint32_t pagemap_check_level1(uint32_t p, uint32_t table)
{
    for (uint32_t i = 0u; i < FRAME_WORDS; i = i + 1u) {
        uint64_t entry = arch_frame_read(table, i);
        if (entry != 0ul) {
            uint32_t own = pagemap_owns(p, entry);
            if (own == 0u) {
                return 4u;
            }
            uint32_t below = pagemap_entry_frame(entry);
            uint32_t broken = pagemap_check_leaves(p, below);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    return 0u;
}

/* Entries of a table of level 2. */
static uint32_t pagemap_check_level2(uint32_t p, uint32_t table)
{
    for (uint32_t i = 0u; i < FRAME_WORDS; i = i + 1u) {
        uint64_t entry = arch_frame_read(table, i);
        if (entry != 0ul) {
            uint32_t own = pagemap_owns(p, entry);
            if (own == 0u) {
                return 5u;
            }
            uint32_t below = pagemap_entry_frame(entry);
            uint32_t broken = pagemap_check_level1(p, below);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    return 0u;
}

/* The root: user entries lead to p's tables, kernel entries are the kernel's. */
static uint32_t pagemap_check_root(uint32_t p, uint32_t root)
{
    for (uint32_t i = 0u; i < PAGEMAP_KERNEL_FIRST; i = i + 1u) {
        uint64_t entry = arch_frame_read(root, i);
        if (entry != 0ul) {
            uint32_t own = pagemap_owns(p, entry);
            if (own == 0u) {
                return 6u;
            }
            uint32_t below = pagemap_entry_frame(entry);
            uint32_t broken = pagemap_check_level2(p, below);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    for (uint32_t i = PAGEMAP_KERNEL_FIRST; i < FRAME_WORDS; i = i + 1u) {
        uint64_t entry = arch_frame_read(root, i);
        uint64_t kernel = arch_kernel_map_entry(i);
        if (entry != kernel || (entry & ARCH_PTE_USER) != 0ul) {
            return 7u;
        }
    }
    return 0u;
}

uint32_t pagemap_check(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        uint32_t exists = pagemap_exists(p);
        if (exists == 1u) {
            uint32_t root = pagemap_root(p);
            uint64_t owners = frame_owners(root);
            if (owners != 1ul << p) {
                return 8u;
            }
            uint32_t broken = pagemap_check_root(p, root);
            if (broken != 0u) {
                return broken;
            }
        }
    }
    return 0u;
}
