/* Nested page maps. */
#include "npt.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "spinlock.h"
#include "tables.h"

#define NPT_LEVELS 4u

/* One cache line each. Guarded by LOCK_NPT_BASE + vm. */
struct npt {
    uint32_t exists;
    uint32_t process; /* charged for the tables */
    uint32_t root;    /* frame */
    uint32_t spare;
    uint64_t cursor; /* freeing of the tables: tables_drop */
    uint64_t spare_words[5];
};

static struct npt npt[NUM_VM];

uint32_t npt_create(uint32_t vm, uint32_t p)
{
    uint32_t status = STATUS_OK;
    spinlock_acquire(LOCK_NPT_BASE + vm);
    if (npt[vm].exists == 1u) {
        status = ERR_BAD_STATE;
    } else {
        uint32_t root = tables_new(p);
        if (root >= NUM_FRAME) {
            status = tables_error(root);
        } else {
            npt[vm].exists = 1u;
            npt[vm].process = p;
            npt[vm].root = root;
            npt[vm].cursor = 0ul;
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return status;
}

/* Adds one of so many missing tables. Returns STATUS_RESTART, ERR_QUOTA or ERR_NO_MEMORY. Requires: vm's lock held, the map
 * exists. */
static uint32_t npt_grow(uint32_t vm, uint64_t gpa, uint32_t missing)
{
    uint32_t status = tables_room(npt[vm].process, missing);
    if (status != STATUS_OK) {
        return status;
    }
    uint32_t fresh = tables_new(npt[vm].process);
    if (fresh >= NUM_FRAME) {
        status = tables_error(fresh);
        return status;
    }
    tables_link(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa, fresh);
    return STATUS_RESTART;
}

/* Requires: vm's lock held, the map exists, gpa and prot are valid. */
static uint32_t npt_map_locked(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot)
{
    uint32_t missing = tables_missing(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
    if (missing > 0u) {
        uint32_t status = npt_grow(vm, gpa, missing);
        return status;
    }
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
    if (npt[vm].exists == 1u) {
        status = npt_map_locked(vm, gpa, frame, prot);
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
        uint64_t leaf = tables_leaf(TABLES_GUEST, npt[vm].root, NPT_LEVELS, gpa);
        if (leaf != 0ul) {
            frame = arch_nested_frame(leaf);
        }
    }
    spinlock_release(LOCK_NPT_BASE + vm);
    return frame;
}

/* Requires: vm's lock held, the map exists. */
static uint32_t npt_destroy_locked(uint32_t vm)
{
    uint64_t cursor = tables_drop(TABLES_GUEST, npt[vm].process, npt[vm].root, NPT_LEVELS, npt[vm].cursor);
    npt[vm].cursor = cursor;
    if (cursor == TABLES_GONE) {
        npt[vm].exists = 0u;
        npt[vm].process = 0u;
        npt[vm].root = 0u;
        return 0u;
    }
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
