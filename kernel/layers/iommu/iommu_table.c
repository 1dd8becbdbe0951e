/* The tables of domains. A path of new tables is built bottom-up and linked by one store, so that a device sees all
 * of it or none, and an error half-way leaves nothing behind. */
#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "iommu_parts.h"

#define IOMMU_INDEX_MASK 511ul
#define IOMMU_LEVELS 4u /* of tables, at most: arch_iommu_levels gives 3 or 4 */

/* Word of the entry for address in a table of this level; level 0 holds the pages. */
static uint32_t iommu_index(uint64_t address, uint32_t level)
{
    uint64_t shifted = address >> (12u + 9u * level);
    return (uint32_t)(shifted & IOMMU_INDEX_MASK);
}

uint32_t iommu_new_table(uint32_t p)
{
    uint32_t fresh = frame_alloc(p);
    if (fresh < NUM_FRAME) {
        arch_iommu_publish(fresh);
    }
    return fresh;
}

uint32_t iommu_table_error(uint32_t refused)
{
    uint32_t status = ERR_NO_MEMORY;
    if (refused == FRAME_NO_QUOTA) {
        status = ERR_QUOTA;
    }
    return status;
}

/* Frees a path of tables for address that was never linked; top is its table of level `level`. */
static void iommu_drop_path(uint32_t p, uint64_t address, uint32_t top, uint32_t level)
{
    uint32_t table = top;
    for (uint32_t left = level; left > 0u && left < IOMMU_LEVELS; left = left - 1u) {
        uint32_t index = iommu_index(address, left);
        uint64_t entry = arch_frame_read(table, index);
        frame_remove_owner(table, p);
        table = arch_iommu_frame(entry);
    }
    frame_remove_owner(table, p);
}

/* Builds the tables of levels 0 .. levels - 1 for address, with leaf in the lowest, and links them into table, of level
 * `levels`. Ensures: on an error nothing is changed. */
static uint32_t iommu_build_path(uint32_t p, uint64_t address, uint32_t table, uint32_t levels, uint64_t leaf)
{
    uint64_t entry = leaf;
    uint32_t below = NONE;
    for (uint32_t level = 0u; level < levels && level < IOMMU_LEVELS; level = level + 1u) {
        uint32_t fresh = iommu_new_table(p);
        if (fresh >= NUM_FRAME) {
            if (level > 0u) {
                iommu_drop_path(p, address, below, level - 1u);
            }
            uint32_t status = iommu_table_error(fresh);
            return status;
        }
        uint32_t index = iommu_index(address, level);
        arch_iommu_write(fresh, index, entry);
        entry = arch_iommu_table(fresh, level);
        below = fresh;
    }
    uint32_t link = iommu_index(address, levels);
    arch_iommu_write(table, link, entry);
    return STATUS_OK;
}

uint32_t iommu_map_page(uint32_t p, uint32_t root, uint32_t frame, uint32_t prot, uint32_t levels)
{
    uint64_t address = (uint64_t)frame << 12u;
    uint64_t leaf = arch_iommu_leaf(frame, prot);
    uint32_t table = root;
    for (uint32_t level = levels - 1u; level > 0u && level < IOMMU_LEVELS; level = level - 1u) {
        uint32_t index = iommu_index(address, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            uint32_t built = iommu_build_path(p, address, table, level, leaf);
            return built;
        }
        table = arch_iommu_frame(entry);
    }
    uint32_t leaf_index = iommu_index(address, 0u);
    uint64_t old = arch_frame_read(table, leaf_index);
    if (old == 0ul) {
        arch_iommu_write(table, leaf_index, leaf);
    }
    return STATUS_OK;
}

uint64_t iommu_leaf(uint32_t root, uint64_t address, uint32_t levels)
{
    uint32_t table = root;
    for (uint32_t level = levels - 1u; level > 0u && level < IOMMU_LEVELS; level = level - 1u) {
        uint32_t index = iommu_index(address, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return 0ul;
        }
        table = arch_iommu_frame(entry);
    }
    uint32_t leaf_index = iommu_index(address, 0u);
    uint64_t leaf = arch_frame_read(table, leaf_index);
    return leaf;
}

/* First word from `from` on that is not 0 in a table, or FRAME_WORDS. */
static uint32_t iommu_next_used(uint32_t table, uint32_t from)
{
    for (uint32_t index = from; index < FRAME_WORDS; index = index + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            return index;
        }
    }
    return FRAME_WORDS;
}

/* Tables of level 0 hold pages, which need no visit. Progress is kept in the tables: the entry of a freed table is
 * cleared. */
uint32_t iommu_drop_table(uint32_t p, uint32_t root, uint32_t levels)
{
    uint32_t parent = root;
    uint32_t used = iommu_next_used(parent, 0u);
    if (used == FRAME_WORDS) {
        frame_remove_owner(parent, p);
        return 0u;
    }
    uint64_t entry = arch_frame_read(parent, used);
    uint32_t table = arch_iommu_frame(entry);
    for (uint32_t level = levels - 2u; level > 0u && level < IOMMU_LEVELS; level = level - 1u) {
        uint32_t below = iommu_next_used(table, 0u);
        if (below == FRAME_WORDS) {
            break;
        }
        parent = table;
        used = below;
        entry = arch_frame_read(parent, used);
        table = arch_iommu_frame(entry);
    }
    arch_frame_write(parent, used, 0ul);
    frame_remove_owner(table, p);
    return 1u;
}
