/* Nested page maps. */
#include "npt.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "spinlock.h"
#include "tables.h"

#define NPT_LEVELS 4u

#define NPT_NONE 0u
#define NPT_THERE 1u
#define NPT_GOING 2u /* some of its tables are freed */
#define NPT_BUSY 3u  /* a CPU makes or frees a part of it, without the lock */

/* One cache line each. Guarded by LOCK_NPT_BASE + vm; while it is BUSY, the rest is used by the CPU that has marked it. Only a
 * map that is THERE is one for others. */
struct npt {
    uint32_t exists;  /* NPT_* */
    uint32_t process; /* charged for the tables */
    uint32_t root;    /* frame */
    uint32_t spare;
    uint64_t cursor; /* freeing of the tables: tables_drop */
    uint64_t spare_words[5];
};

static struct npt npt[NUM_VM];

/* Marks vm's map, which is not there, so that this CPU alone makes it. Returns STATUS_OK; STATUS_RESTART (another CPU makes it, or
 * frees what is left of one); ERR_BAD_STATE (there is one). */
static uint32_t npt_begin_making(uint32_t vm)
{
    uint32_t status = ERR_BAD_STATE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_NONE) {
        npt[vm].exists = NPT_BUSY;
        status = STATUS_OK;
    } else if (npt[vm].exists == NPT_BUSY) {
        status = STATUS_RESTART;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

uint32_t npt_create(uint32_t vm, uint32_t p)
{
    uint32_t status = npt_begin_making(vm);
    if (status != STATUS_OK) {
        return status;
    }
    uint32_t root = tables_new(p);
    spinlock_acquire(LOCK_NPT_BASE + vm);
    npt[vm].exists = NPT_NONE;
    if (root < NUM_FRAME) {
        npt[vm].exists = NPT_THERE;
        npt[vm].process = p;
        npt[vm].root = root;
        npt[vm].cursor = 0ul;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    if (root >= NUM_FRAME) {
        status = tables_error(root);
    }
    return status;
}

/* Links a fresh table on the way to gpa. Returns 1; or 0: none is missing any more. */
static uint32_t npt_link(uint32_t vm, uint64_t gpa, uint32_t fresh)
{
    uint32_t linked = 0u;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_THERE) {
        uint32_t missing = tables_missing(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
        if (missing > 0u) {
            tables_link(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa, fresh);
            linked = 1u;
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return linked;
}

uint32_t npt_missing(uint32_t vm, uint64_t gpa)
{
    uint32_t missing = 0u;
    if (gpa >= NPT_ADDRESS_END || (gpa & 0xffful) != 0ul) {
        return 0u;
    }
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_THERE) {
        missing = tables_missing(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return missing;
}

uint32_t npt_prepare(uint32_t vm, uint64_t gpa, uint32_t p, uint32_t missing)
{
    uint32_t status = tables_room(p, missing);
    if (status != STATUS_OK) {
        return status;
    }
    uint32_t fresh = tables_new(p);
    if (fresh >= NUM_FRAME) {
        status = tables_error(fresh);
        return status;
    }
    uint32_t linked = npt_link(vm, gpa, fresh);
    if (linked == 0u) {
        frame_remove_owner(fresh, p); /* another thread was first */
    }
    return STATUS_RESTART;
}

/* Requires: vm's lock held, the map exists and has all tables for gpa; gpa and prot are valid. */
static uint32_t npt_map_locked(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot)
{
    uint64_t old = tables_leaf(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
    if (old != 0ul) {
        return ERR_ALREADY_MAPPED;
    }
    uint64_t leaf = arch_nested_entry(frame, prot);
    tables_store(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa, leaf);
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
    if (npt[vm].exists == NPT_THERE) {
        uint32_t missing = tables_missing(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
        if (missing == 0u) {
            status = npt_map_locked(vm, gpa, frame, prot);
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

/* Requires: vm's lock held, the map exists. */
static uint32_t npt_unmap_locked(uint32_t vm, uint64_t gpa)
{
    uint64_t leaf = tables_leaf(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
    if (leaf == 0ul) {
        return ERR_BAD_ADDRESS;
    }
    tables_store(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa, 0ul);
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
    if (npt[vm].exists == NPT_THERE) {
        status = npt_unmap_locked(vm, gpa);
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

uint32_t npt_walk(uint32_t vm, uint64_t gpa)
{
    uint32_t frame = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_THERE && gpa < NPT_ADDRESS_END) {
        uint64_t leaf = tables_leaf(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
        if (leaf != 0ul) {
            frame = arch_nested_frame(leaf);
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return frame;
}

/* Frees a part of the map. Returns the state that it is in then. Requires: this CPU has marked it. */
static uint32_t npt_drop(uint32_t vm)
{
    uint64_t cursor = tables_drop(TABLES_GUEST, npt[vm].process, npt[vm].root, NPT_LEVELS, npt[vm].cursor);
    npt[vm].cursor = cursor;
    arch_vcpu_flush(vm);
    if (cursor == TABLES_GONE) {
        npt[vm].process = 0u;
        npt[vm].root = 0u;
        return NPT_NONE;
    }
    return NPT_GOING;
}

uint32_t npt_destroy_step(uint32_t vm)
{
    uint32_t more = 0u;
    uint32_t mine = 0u;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists != NPT_NONE) {
        more = 1u;
        if (npt[vm].exists != NPT_BUSY) {
            npt[vm].exists = NPT_BUSY;
            mine = 1u;
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    if (mine == 1u) {
        uint32_t after = npt_drop(vm);
        spinlock_acquire(LOCK_NPT_BASE + vm);
        npt[vm].exists = after;
        spinlock_release(LOCK_NPT_BASE + vm);
        if (after == NPT_NONE) {
            more = 0u;
        }
    }
    return more;
}

uint32_t npt_root(uint32_t vm)
{
    uint32_t root = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_THERE) {
        root = npt[vm].root;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return root;
}

uint32_t npt_process(uint32_t vm)
{
    uint32_t process = NONE;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == NPT_THERE) {
        process = npt[vm].process;
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return process;
}

#if DEBUG
#include "npt_check.c"
#endif
