/* Page maps: making tables, mapping, unmapping, walking. A table is cleared before the one store that links it: the
 * processor's walk finds none, or an empty one. */
#include "pagemap.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "pagemap_parts.h"
#include "spinlock.h"

#define PAGEMAP_INDEX_MASK 511ul
#define PAGEMAP_KERNEL_FIRST 256u /* first root entry of the kernel's half */
#define PAGEMAP_TABLE_BITS (ARCH_PTE_PRESENT | ARCH_PTE_WRITE | ARCH_PTE_USER | ARCH_PTE_ACCESSED)
#define PAGEMAP_LEAF_BITS (ARCH_PTE_PRESENT | ARCH_PTE_USER | ARCH_PTE_ACCESSED | ARCH_PTE_DIRTY)

/* One cache line each. Guarded by LOCK_PAGEMAP_BASE + p; root and exists do not change while a thread of p lives,
 * so its CPU may keep the root. */
struct pagemap {
    uint32_t exists;
    uint32_t root;   /* frame */
    uint64_t cursor; /* destruction: everything below this address has been freed */
    uint64_t spare[6];
};

static struct pagemap pagemap[NUM_PROCESS];

void pagemap_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        pagemap[p].exists = 0u;
        pagemap[p].root = NONE;
        pagemap[p].cursor = 0ul;
    }
}

void pagemap_lock(uint32_t p)
{
    spinlock_acquire(LOCK_PAGEMAP_BASE + p);
}

void pagemap_unlock(uint32_t p)
{
    spinlock_release(LOCK_PAGEMAP_BASE + p);
}

uint32_t pagemap_exists(uint32_t p)
{
    return pagemap[p].exists;
}

uint32_t pagemap_root(uint32_t p)
{
    return pagemap[p].root;
}

void pagemap_drop_root(uint32_t p)
{
    uint32_t root = pagemap[p].root;
    pagemap[p].exists = 0u;
    pagemap[p].root = NONE;
    pagemap[p].cursor = 0ul;
    frame_remove_owner(root, p);
}

uint64_t pagemap_cursor(uint32_t p)
{
    return pagemap[p].cursor;
}

void pagemap_set_cursor(uint32_t p, uint64_t vaddr)
{
    pagemap[p].cursor = vaddr;
}

uint32_t pagemap_index(uint64_t vaddr, uint32_t level)
{
    uint64_t shifted = vaddr >> (12u + 9u * level);
    return (uint32_t)(shifted & PAGEMAP_INDEX_MASK);
}

uint32_t pagemap_entry_frame(uint64_t entry)
{
    uint64_t frame = (entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT;
    return (uint32_t)frame;
}

uint32_t pagemap_table(uint32_t p, uint64_t vaddr, uint32_t level)
{
    uint32_t table = pagemap[p].root;
    for (uint32_t at = PAGEMAP_ROOT_LEVEL; at > level; at = at - 1u) {
        uint32_t index = pagemap_index(vaddr, at);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return NONE;
        }
        table = pagemap_entry_frame(entry);
    }
    return table;
}

/* 1 if vaddr is the address of a page in user space, else 0. */
static uint32_t pagemap_valid(uint64_t vaddr)
{
    if ((vaddr & 0xffful) != 0ul || vaddr < USER_BASE || vaddr >= USER_END) {
        return 0u;
    }
    return 1u;
}

uint32_t pagemap_create(uint32_t p)
{
    uint32_t status = ERR_BAD_STATE;
    pagemap_lock(p);
    if (pagemap[p].exists == 0u) {
        uint32_t root = frame_alloc_private(p);
        if (root == NONE) {
            status = ERR_NO_MEMORY;
        } else if (root == FRAME_NO_QUOTA) {
            status = ERR_QUOTA;
        } else {
            for (uint32_t i = PAGEMAP_KERNEL_FIRST; i < FRAME_WORDS; i = i + 1u) {
                uint64_t entry = arch_kernel_map_entry(i);
                arch_frame_write(root, i, entry);
            }
            pagemap[p].exists = 1u;
            pagemap[p].root = root;
            pagemap[p].cursor = 0ul;
            status = STATUS_OK;
        }
    }
    pagemap_unlock(p);
    return status;
}

/* The level of the lowest table on the way to vaddr. Requires: the lock is held, the map exists, vaddr is valid. */
static uint32_t pagemap_lowest(uint32_t p, uint64_t vaddr)
{
    for (uint32_t level = 0u; level < PAGEMAP_ROOT_LEVEL; level = level + 1u) {
        uint32_t table = pagemap_table(p, vaddr, level);
        if (table != NONE) {
            return level;
        }
    }
    return PAGEMAP_ROOT_LEVEL;
}

uint32_t pagemap_missing(uint32_t p, uint64_t vaddr)
{
    uint32_t missing = 0u;
    uint32_t valid = pagemap_valid(vaddr);
    if (valid == 0u) {
        return 0u;
    }
    pagemap_lock(p);
    if (pagemap[p].exists == 1u) {
        missing = pagemap_lowest(p, vaddr);
    }
    pagemap_unlock(p);
    return missing;
}

/* Requires: the lock is held, the map exists, vaddr is valid. */
static uint32_t pagemap_prepare_locked(uint32_t p, uint64_t vaddr)
{
    uint32_t level = pagemap_lowest(p, vaddr);
    if (level == 0u) {
        return STATUS_OK;
    }
    uint32_t fresh = frame_alloc_private(p);
    if (fresh == NONE) {
        return ERR_NO_MEMORY;
    }
    if (fresh == FRAME_NO_QUOTA) {
        return ERR_QUOTA;
    }
    uint32_t table = pagemap_table(p, vaddr, level);
    uint32_t index = pagemap_index(vaddr, level);
    arch_frame_write(table, index, ((uint64_t)fresh << ARCH_PTE_FRAME_SHIFT) | PAGEMAP_TABLE_BITS);
    return STATUS_RESTART;
}

uint32_t pagemap_prepare(uint32_t p, uint64_t vaddr)
{
    uint32_t status = ERR_BAD_STATE;
    uint32_t valid = pagemap_valid(vaddr);
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    pagemap_lock(p);
    if (pagemap[p].exists == 1u) {
        status = pagemap_prepare_locked(p, vaddr);
    }
    pagemap_unlock(p);
    return status;
}

/* The leaf entry for a frame. Requires: prot and kind are valid. */
static uint64_t pagemap_leaf(uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint64_t entry = ((uint64_t)frame << ARCH_PTE_FRAME_SHIFT) | PAGEMAP_LEAF_BITS;
    if ((prot & PROT_WRITE) != 0u) {
        entry = entry | ARCH_PTE_WRITE;
    }
    if ((prot & PROT_EXEC) == 0u) {
        entry = entry | ARCH_PTE_NO_EXECUTE;
    }
    if (kind == PAGEMAP_OWNED) {
        entry = entry | ARCH_PTE_OWNED;
    }
    if (kind == PAGEMAP_DEVICE) {
        entry = entry | ARCH_PTE_UNCACHED;
    }
    return entry;
}

/* Stores leaf for vaddr. Requires: the lock is held, the map exists, vaddr is valid. */
static uint32_t pagemap_map_locked(uint32_t p, uint64_t vaddr, uint64_t leaf)
{
    uint32_t table = pagemap_table(p, vaddr, 0u);
    if (table == NONE) {
        return PAGEMAP_NO_TABLE;
    }
    uint32_t index = pagemap_index(vaddr, 0u);
    uint64_t old = arch_frame_read(table, index);
    if (old != 0ul) {
        return ERR_ALREADY_MAPPED;
    }
    arch_frame_write(table, index, leaf);
    return STATUS_OK;
}

uint32_t pagemap_map(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint32_t status = ERR_BAD_STATE;
    uint32_t valid = pagemap_valid(vaddr);
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    if (((prot & PROT_WRITE) != 0u && (prot & PROT_EXEC) != 0u) || kind > PAGEMAP_DEVICE) {
        return ERR_BAD_ARGUMENT;
    }
    uint64_t leaf = pagemap_leaf(frame, prot, kind);
    pagemap_lock(p);
    if (pagemap[p].exists == 1u) {
        status = pagemap_map_locked(p, vaddr, leaf);
    }
    pagemap_unlock(p);
    return status;
}

/* The leaf entry for vaddr, or 0; clears it if `take` is 1. */
static uint64_t pagemap_find(uint32_t p, uint64_t vaddr, uint32_t take)
{
    uint64_t entry = 0ul;
    uint32_t valid = pagemap_valid(vaddr);
    if (valid == 0u) {
        return 0ul;
    }
    pagemap_lock(p);
    if (pagemap[p].exists == 1u) {
        uint32_t table = pagemap_table(p, vaddr, 0u);
        if (table != NONE) {
            uint32_t index = pagemap_index(vaddr, 0u);
            entry = arch_frame_read(table, index);
            if (take == 1u) {
                arch_frame_write(table, index, 0ul);
            }
        }
    }
    pagemap_unlock(p);
    return entry;
}

uint64_t pagemap_unmap(uint32_t p, uint64_t vaddr)
{
    uint64_t entry = pagemap_find(p, vaddr, 1u);
    return entry;
}

uint64_t pagemap_walk(uint32_t p, uint64_t vaddr)
{
    uint64_t entry = pagemap_find(p, vaddr, 0u);
    return entry;
}

uint32_t pagemap_frame(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint64_t entry = pagemap_find(p, vaddr, 0u);
    uint32_t frame = pagemap_entry_frame(entry);
    if ((entry & ARCH_PTE_OWNED) == 0ul) {
        return NONE;
    }
    if ((prot & PROT_WRITE) != 0u && (entry & ARCH_PTE_WRITE) == 0ul) {
        return NONE;
    }
    if ((prot & PROT_EXEC) != 0u && (entry & ARCH_PTE_NO_EXECUTE) != 0ul) {
        return NONE;
    }
    return frame;
}

void pagemap_pin(uint32_t p, uint64_t vaddr)
{
    uint32_t valid = pagemap_valid(vaddr);
    if (valid == 0u) {
        return;
    }
    pagemap_lock(p);
    if (pagemap[p].exists == 1u) {
        uint32_t table = pagemap_table(p, vaddr, 0u);
        if (table != NONE) {
            uint32_t index = pagemap_index(vaddr, 0u);
            uint64_t entry = arch_frame_read(table, index);
            if (entry != 0ul) {
                arch_frame_write(table, index, entry | ARCH_PTE_PINNED);
            }
        }
    }
    pagemap_unlock(p);
}

uint32_t pagemap_root_of(uint32_t p)
{
    pagemap_lock(p);
    uint32_t root = pagemap[p].root;
    pagemap_unlock(p);
    return root;
}

void pagemap_load(uint32_t root)
{
    arch_page_map_load(root);
}

void pagemap_load_kernel(void)
{
    arch_page_map_load_kernel();
}

#if DEBUG
#include "pagemap_check.c"
#endif
