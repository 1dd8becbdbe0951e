/* Destruction of a page map, one entry at a time. The cursor moves up through user space; the entry at the cursor
 * is cleared, a table is freed when the cursor leaves its last entry, and absent tables are skipped in one move.
 * Everything below the cursor has been freed, everything above is intact, so destruction can be interrupted after any
 * move. */
#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "pagemap.h"
#include "pagemap_parts.h"

/* Address where the next entry of this level begins after the one that covers vaddr. */
static uint64_t pagemap_next(uint64_t vaddr, uint32_t level)
{
    uint64_t size = 1ul << (12u + 9u * level);
    return (vaddr & ~(size - 1ul)) + size;
}

/* Frees the table of this level that covers vaddr, and clears the entry that names it. Requires: its entries are 0. */
static void pagemap_drop_table(uint32_t p, uint64_t vaddr, uint32_t level)
{
    uint32_t parent = pagemap_table(p, vaddr, level + 1u);
    uint32_t index = pagemap_index(vaddr, level + 1u);
    uint64_t entry = arch_frame_read(parent, index);
    uint32_t table = pagemap_entry_frame(entry);
    arch_frame_write(parent, index, 0ul);
    frame_remove_owner(table, p);
}

/* Moves the cursor past the entry of this level at vaddr, which is 0, and frees the tables it leaves. */
static void pagemap_pass(uint32_t p, uint64_t vaddr, uint32_t level)
{
    uint64_t next = pagemap_next(vaddr, level);
    for (uint32_t at = level; at < PAGEMAP_ROOT_LEVEL; at = at + 1u) {
        uint32_t index = pagemap_index(next, at);
        if (index != 0u) {
            break;
        }
        pagemap_drop_table(p, vaddr, at);
    }
    pagemap_set_cursor(p, next);
}

/* Clears the leaf entry at vaddr. */
static void pagemap_drop_leaf(uint32_t p, uint64_t vaddr, uint32_t table)
{
    uint32_t index = pagemap_index(vaddr, 0u);
    uint64_t entry = arch_frame_read(table, index);
    arch_frame_write(table, index, 0ul);
    if ((entry & ARCH_PTE_OWNED) != 0ul) {
        uint32_t frame = pagemap_entry_frame(entry);
        frame_remove_owner(frame, p);
    }
}

/* One move of the cursor. Returns 1, or 0 if nothing is left but the root. */
static uint32_t pagemap_move(uint32_t p)
{
    uint64_t vaddr = pagemap_cursor(p);
    uint32_t table = pagemap_root(p);
    if (vaddr >= USER_END) {
        return 0u;
    }
    for (uint32_t level = PAGEMAP_ROOT_LEVEL; level > 0u; level = level - 1u) {
        uint32_t index = pagemap_index(vaddr, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            pagemap_pass(p, vaddr, level);
            return 1u;
        }
        table = pagemap_entry_frame(entry);
    }
    pagemap_drop_leaf(p, vaddr, table);
    pagemap_pass(p, vaddr, 0u);
    return 1u;
}

uint32_t pagemap_destroy_step(uint32_t p)
{
    uint32_t more = 0u;
    pagemap_lock(p);
    uint32_t exists = pagemap_exists(p);
    if (exists == 1u) {
        more = pagemap_move(p);
        if (more == 0u) {
            pagemap_drop_root(p);
        }
    }
    pagemap_unlock(p);
    return more;
}
