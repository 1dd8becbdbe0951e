/* Trees of translation tables. */
#include "tables.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"

#define TABLES_LEVELS 4u /* at most */
#define TABLES_INDEX_MASK 511ul
#define TABLES_SCAN 8u /* entries that one step of freeing looks at in a table */

/* Word of the entry for address in a table of this level. */
static uint32_t tables_index(uint64_t address, uint32_t level)
{
    uint64_t shifted = address >> (12u + 9u * level);
    return (uint32_t)(shifted & TABLES_INDEX_MASK);
}

/* The frame that an entry names. */
static uint32_t tables_frame(uint32_t kind, uint64_t entry)
{
    uint32_t frame = NONE;
    if (kind == TABLES_DEVICE) {
        frame = arch_iommu_frame(entry);
    } else {
        frame = arch_nested_frame(entry);
    }
    return frame;
}

uint32_t tables_room(uint32_t p, uint32_t count)
{
    uint32_t used = container_usage(p);
    uint32_t quota = container_quota(p);
    uint32_t left = frame_free_count();
    if (quota < used || quota - used < count) {
        return ERR_QUOTA;
    }
    if (left < count) {
        return ERR_NO_MEMORY;
    }
    return STATUS_OK;
}

uint32_t tables_new(uint32_t p)
{
    uint32_t fresh = frame_alloc(p);
    return fresh;
}

uint32_t tables_error(uint32_t refused)
{
    uint32_t status = ERR_NO_MEMORY;
    if (refused == FRAME_NO_QUOTA) {
        status = ERR_QUOTA;
    }
    return status;
}

/* The lowest table there is on the way to address. */
static uint32_t tables_last(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address)
{
    uint32_t table = root;
    for (uint32_t level = levels - 1u; level > 0u && level < TABLES_LEVELS; level = level - 1u) {
        uint32_t index = tables_index(address, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return table;
        }
        table = tables_frame(kind, entry);
    }
    return table;
}

uint32_t tables_missing(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address)
{
    uint32_t table = root;
    for (uint32_t level = levels - 1u; level > 0u && level < TABLES_LEVELS; level = level - 1u) {
        uint32_t index = tables_index(address, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return level;
        }
        table = tables_frame(kind, entry);
    }
    return 0u;
}

void tables_link(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address, uint32_t fresh)
{
    uint32_t level = tables_missing(kind, root, levels, address);
    uint32_t table = tables_last(kind, root, levels, address);
    uint32_t index = tables_index(address, level);
    if (kind == TABLES_DEVICE) {
        uint64_t entry = arch_iommu_table(fresh, level - 1u);
        arch_iommu_write(table, index, entry);
    } else {
        uint64_t entry = arch_nested_table(fresh);
        arch_frame_write(table, index, entry);
    }
}

uint64_t tables_leaf(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address)
{
    uint64_t leaf = 0ul;
    uint32_t missing = tables_missing(kind, root, levels, address);
    if (missing == 0u) {
        uint32_t table = tables_last(kind, root, levels, address);
        uint32_t index = tables_index(address, 0u);
        leaf = arch_frame_read(table, index);
    }
    return leaf;
}

void tables_store(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address, uint64_t leaf)
{
    uint32_t table = tables_last(kind, root, levels, address);
    uint32_t index = tables_index(address, 0u);
    if (kind == TABLES_DEVICE) {
        arch_iommu_write(table, index, leaf);
    } else {
        arch_frame_write(table, index, leaf);
    }
}

/* First word from `from` on, of at most TABLES_SCAN, that is not 0; else the word behind those, at most FRAME_WORDS. */
static uint32_t tables_next_used(uint32_t table, uint32_t from)
{
    uint32_t index = from;
    for (uint32_t i = 0u; i < TABLES_SCAN && index < FRAME_WORDS; i = i + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            return index;
        }
        index = index + 1u;
    }
    return index;
}

/* The first address under entry `index` of the table of this level that has address under it. */
static uint64_t tables_begin(uint64_t address, uint32_t level, uint32_t index)
{
    uint32_t shift = 12u + 9u * level;
    uint64_t table = (address >> (shift + 9u)) << (shift + 9u);
    return table + ((uint64_t)index << shift);
}

/* Below the cursor all entries are 0. A table whose entries have all been seen is freed, and the cursor stays on the entry
 * above that named it, so that this table is seen to its end as well. Tables of level 0 hold leaves, which name nothing
 * that is the tree's. */
uint64_t tables_drop(uint32_t kind, uint32_t p, uint32_t root, uint32_t levels, uint64_t cursor)
{
    uint64_t at = cursor;
    uint32_t table = root;
    uint32_t above = NONE;
    for (uint32_t level = levels - 1u; level > 0u && level < TABLES_LEVELS; level = level - 1u) {
        uint32_t first = tables_index(at, level);
        uint32_t index = tables_next_used(table, first);
        uint64_t entry = 0ul;
        if (index < FRAME_WORDS) {
            entry = arch_frame_read(table, index);
        }
        if (entry == 0ul && index < FRAME_WORDS) {
            uint64_t next = tables_begin(at, level, index);
            return next;
        }
        if (entry == 0ul && above != NONE) {
            uint32_t named = tables_index(at, level + 1u);
            arch_frame_write(above, named, 0ul);
            frame_remove_owner(table, p);
            uint64_t next = tables_begin(at, level + 1u, named);
            return next;
        }
        if (entry == 0ul) {
            frame_remove_owner(table, p);
            return TABLES_GONE;
        }
        if (first != index) {
            at = tables_begin(at, level, index);
        }
        uint32_t below = tables_frame(kind, entry);
        if (level == 1u) {
            arch_frame_write(table, index, 0ul);
            frame_remove_owner(below, p);
            return at;
        }
        above = table;
        table = below;
    }
    return TABLES_GONE;
}
