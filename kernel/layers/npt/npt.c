/* Nested page maps. A path of new tables is built bottom-up and linked by one store, so that the processor's walk
 * sees all of it or none, and an error half-way leaves nothing behind. */
#include "npt.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "spinlock.h"

/* Level 3 is the root, level 0 holds the leaves. */
#define NPT_ROOT_LEVEL 3u
#define NPT_INDEX_MASK 511ul

/* One cache line each. Guarded by LOCK_NPT_BASE + vm. */
struct npt {
    uint32_t exists;
    uint32_t process; /* charged for the tables */
    uint32_t root;    /* frame */
    uint32_t spare[13];
};

static struct npt npt[NUM_VM];

/* Word of the entry for gpa in a table of this level. */
static uint32_t npt_index(uint64_t gpa, uint32_t level)
{
    uint64_t shifted = gpa >> (12u + 9u * level);
    return (uint32_t)(shifted & NPT_INDEX_MASK);
}

/* Leaf entry for gpa, 0 if there is none. Requires: vm's lock held, the map exists, gpa < NPT_ADDRESS_END. */
static uint64_t npt_leaf(uint32_t vm, uint64_t gpa)
{
    uint32_t table = npt[vm].root;
    for (uint32_t level = NPT_ROOT_LEVEL; level > 0u; level = level - 1u) {
        uint32_t index = npt_index(gpa, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return 0ul;
        }
        table = arch_nested_frame(entry);
    }
    uint32_t leaf_index = npt_index(gpa, 0u);
    uint64_t leaf = arch_frame_read(table, leaf_index);
    return leaf;
}

/* Frees a path of tables for gpa that was never linked; top is its table of level `level`. */
static void npt_drop_path(uint32_t p, uint64_t gpa, uint32_t top, uint32_t level)
{
    uint32_t table = top;
    for (uint32_t left = level; left > 0u; left = left - 1u) {
        uint32_t index = npt_index(gpa, left);
        uint64_t entry = arch_frame_read(table, index);
        frame_remove_owner(table, p);
        table = arch_nested_frame(entry);
    }
    frame_remove_owner(table, p);
}

/* Builds the tables of levels 0 .. levels - 1 for gpa, with leaf in the lowest, and links them into table (of level
 * `levels`). Requires: vm's lock held. Ensures: on an error nothing is changed. */
static uint32_t npt_build_path(uint32_t vm, uint64_t gpa, uint32_t table, uint32_t levels, uint64_t leaf)
{
    uint32_t p = npt[vm].process;
    uint64_t entry = leaf;
    uint32_t below = NONE;
    for (uint32_t level = 0u; level < levels; level = level + 1u) {
        uint32_t fresh = frame_alloc(p);
        if (fresh == NONE || fresh == FRAME_NO_QUOTA) {
            if (level > 0u) {
                npt_drop_path(p, gpa, below, level - 1u);
            }
            if (fresh == NONE) {
                return ERR_NO_MEMORY;
            }
            return ERR_QUOTA;
        }
        uint32_t index = npt_index(gpa, level);
        arch_frame_write(fresh, index, entry);
        entry = arch_nested_table(fresh);
        below = fresh;
    }
    uint32_t link = npt_index(gpa, levels);
    arch_frame_write(table, link, entry);
    return STATUS_OK;
}

uint32_t npt_create(uint32_t vm, uint32_t p)
{
    uint32_t status = STATUS_OK;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        status = ERR_BAD_STATE;
    } else {
        uint32_t root = frame_alloc(p);
        if (root == NONE) {
            status = ERR_NO_MEMORY;
        } else if (root == FRAME_NO_QUOTA) {
            status = ERR_QUOTA;
        } else {
            npt[vm].exists = 1u;
            npt[vm].process = p;
            npt[vm].root = root;
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

/* Requires: vm's lock held, the map exists, gpa and prot are valid. */
static uint32_t npt_map_locked(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot)
{
    uint64_t leaf = arch_nested_entry(frame, prot);
    uint32_t table = npt[vm].root;
    uint32_t level = NPT_ROOT_LEVEL;
    while (level > 0u) {
        uint32_t index = npt_index(gpa, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            uint32_t built = npt_build_path(vm, gpa, table, level, leaf);
            return built;
        }
        table = arch_nested_frame(entry);
        level = level - 1u;
    }
    uint32_t leaf_index = npt_index(gpa, 0u);
    uint64_t old = arch_frame_read(table, leaf_index);
    if (old != 0ul) {
        return ERR_ALREADY_MAPPED;
    }
    arch_frame_write(table, leaf_index, leaf);
    return STATUS_OK;
}

uint32_t npt_map(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot)
{
    uint32_t status = ERR_BAD_STATE;
    if (gpa >= NPT_ADDRESS_END || (gpa & 0xffful) != 0ul) {
        return ERR_BAD_ADDRESS;
    }
    if (prot > (PROT_READ | PROT_WRITE | PROT_EXEC) || (prot & PROT_READ) == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        status = npt_map_locked(vm, gpa, frame, prot);
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

/* Requires: vm's lock held, the map exists. */
static uint32_t npt_unmap_locked(uint32_t vm, uint64_t gpa)
{
    uint32_t table = npt[vm].root;
    for (uint32_t level = NPT_ROOT_LEVEL; level > 0u; level = level - 1u) {
        uint32_t index = npt_index(gpa, level);
        uint64_t entry = arch_frame_read(table, index);
        if (entry == 0ul) {
            return ERR_BAD_ADDRESS;
        }
        table = arch_nested_frame(entry);
    }
    uint32_t leaf_index = npt_index(gpa, 0u);
    uint64_t leaf = arch_frame_read(table, leaf_index);
    if (leaf == 0ul) {
        return ERR_BAD_ADDRESS;
    }
    arch_frame_write(table, leaf_index, 0ul);
    arch_vcpu_flush(vm);
    return STATUS_OK;
}

uint32_t npt_unmap(uint32_t vm, uint64_t gpa)
{
    uint32_t status = ERR_BAD_STATE;
    if (gpa >= NPT_ADDRESS_END || (gpa & 0xffful) != 0ul) {
        return ERR_BAD_ADDRESS;
    }
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        status = npt_unmap_locked(vm, gpa);
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

uint32_t npt_walk(uint32_t vm, uint64_t gpa)
{
    uint32_t frame = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u && gpa < NPT_ADDRESS_END) {
        uint64_t leaf = npt_leaf(vm, gpa);
        if (leaf != 0ul) {
            frame = arch_nested_frame(leaf);
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return frame;
}

/* Frees the root. Requires: vm's lock held; every entry of the root is 0. */
static void npt_drop_root(uint32_t vm)
{
    frame_remove_owner(npt[vm].root, npt[vm].process);
    npt[vm].exists = 0u;
    npt[vm].process = 0u;
    npt[vm].root = 0u;
}

/* First word from `from` on that is not 0 in a table, or FRAME_WORDS. */
static uint32_t npt_next_used(uint32_t table, uint32_t from)
{
    for (uint32_t index = from; index < FRAME_WORDS; index = index + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            return index;
        }
    }
    return FRAME_WORDS;
}

/* Frees the first table that has no table below it, down to level 0, whose entries are leaves and need no visit.
 * Progress is kept in the tables: the entry of a freed table is cleared. Requires: vm's lock held, the map exists. */
static uint32_t npt_destroy_locked(uint32_t vm)
{
    uint32_t parent = npt[vm].root;
    uint32_t used = npt_next_used(parent, 0u);
    if (used == FRAME_WORDS) {
        npt_drop_root(vm);
        return 0u;
    }
    uint64_t entry = arch_frame_read(parent, used);
    uint32_t table = arch_nested_frame(entry);
    for (uint32_t level = NPT_ROOT_LEVEL - 1u; level > 0u; level = level - 1u) {
        uint32_t below = npt_next_used(table, 0u);
        if (below == FRAME_WORDS) {
            break;
        }
        parent = table;
        used = below;
        entry = arch_frame_read(parent, used);
        table = arch_nested_frame(entry);
    }
    arch_frame_write(parent, used, 0ul);
    frame_remove_owner(table, npt[vm].process);
    return 1u;
}

uint32_t npt_destroy_step(uint32_t vm)
{
    uint32_t more = 0u;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        more = npt_destroy_locked(vm);
        arch_vcpu_flush(vm);
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return more;
}

uint32_t npt_root(uint32_t vm)
{
    uint32_t root = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        root = npt[vm].root;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return root;
}

uint32_t npt_process(uint32_t vm)
{
    uint32_t process = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        process = npt[vm].process;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return process;
}

#if DEBUG
#include "npt_check.c"
#endif
