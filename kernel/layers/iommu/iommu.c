/* Domains of devices, and which functions are attached to them. */
#include "iommu.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "iommu_parts.h"
#include "spinlock.h"

/* Constant after start-up. */
struct iommu_function {
    uint32_t function;
    uint32_t owner; /* NONE: no entry */
};

/* Guarded by LOCK_IOMMU. The domain id of process p is p + 1, because some units reserve 0. */
struct iommu_domain {
    uint32_t root;     /* frame; NONE: there is no domain */
    uint32_t attached; /* p's functions before this index of iommu_function are attached */
};

static struct iommu_function iommu_function[NUM_DEVICE];
static struct iommu_domain iommu_domain[NUM_PROCESS];

void iommu_init(void)
{
    for (uint32_t i = 0u; i < NUM_DEVICE; i = i + 1u) {
        iommu_function[i].function = 0u;
        iommu_function[i].owner = NONE;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        iommu_domain[p].root = NONE;
        iommu_domain[p].attached = 0u;
    }
    iommu_fault_init();
}

uint32_t iommu_owner(uint32_t function)
{
    for (uint32_t i = 0u; i < NUM_DEVICE; i = i + 1u) {
        if (iommu_function[i].owner != NONE && iommu_function[i].function == function) {
            return iommu_function[i].owner;
        }
    }
    return NONE;
}

void iommu_define(uint32_t function, uint32_t owner)
{
    uint32_t known = iommu_owner(function);
    for (uint32_t i = 0u; i < NUM_DEVICE && known == NONE; i = i + 1u) {
        if (iommu_function[i].owner == NONE) {
            iommu_function[i].function = function;
            iommu_function[i].owner = owner;
            known = owner;
        }
    }
}

/* Makes an empty domain for p. Requires: LOCK_IOMMU held, p has no domain. */
static uint32_t iommu_create(uint32_t p)
{
    uint32_t root = iommu_new_table(p);
    if (root >= NUM_FRAME) {
        uint32_t status = iommu_table_error(root);
        return status;
    }
    iommu_domain[p].root = root;
    return STATUS_OK;
}

/* The first function of p from `from` on, or NUM_DEVICE. */
static uint32_t iommu_next_function(uint32_t p, uint32_t from)
{
    for (uint32_t i = from; i < NUM_DEVICE; i = i + 1u) {
        if (iommu_function[i].owner == p) {
            return i;
        }
    }
    return NUM_DEVICE;
}

/* Attaches the next of p's functions, if any is left. Returns STATUS_OK if all are attached, else STATUS_RESTART.
 * Requires: LOCK_IOMMU held, p has a domain. */
static uint32_t iommu_attach_next(uint32_t p)
{
    uint32_t next = iommu_next_function(p, iommu_domain[p].attached);
    if (next < NUM_DEVICE) {
        arch_iommu_attach(iommu_function[next].function, p + 1u, iommu_domain[p].root);
        next = iommu_next_function(p, next + 1u);
    }
    iommu_domain[p].attached = next;
    if (next < NUM_DEVICE) {
        return STATUS_RESTART;
    }
    return STATUS_OK;
}

uint32_t iommu_map(uint32_t p, uint32_t frame, uint32_t prot)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t status = STATUS_OK;
    if (levels == 0u) {
        return STATUS_OK;
    }
    spinlock_acquire(LOCK_IOMMU);
    if (iommu_domain[p].root == NONE) {
        status = iommu_create(p);
        if (status == STATUS_OK) {
            status = STATUS_RESTART;
        }
    } else {
        status = iommu_map_page(p, iommu_domain[p].root, frame, prot, levels);
        if (status == STATUS_OK) {
            status = iommu_attach_next(p);
            arch_iommu_added(p + 1u);
        } else if (iommu_domain[p].attached == 0u) {
            frame_remove_owner(iommu_domain[p].root, p); /* no page is mapped yet */
            iommu_domain[p].root = NONE;
        }
    }
    spinlock_release(LOCK_IOMMU);
    return status;
}

uint32_t iommu_walk(uint32_t p, uint64_t address, uint32_t write)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t frame = NONE;
    spinlock_acquire(LOCK_IOMMU);
    if (levels != 0u && iommu_domain[p].root != NONE && address < (uint64_t)NUM_FRAME * 4096ul) {
        uint64_t leaf = iommu_leaf(iommu_domain[p].root, address, levels);
        if (leaf != 0ul) {
            frame = arch_iommu_frame(leaf);
            uint64_t writable = arch_iommu_leaf(frame, PROT_READ | PROT_WRITE);
            if (write == 1u && leaf != writable) {
                frame = NONE;
            }
        }
    }
    spinlock_release(LOCK_IOMMU);
    return frame;
}

/* ---- the end of a domain ---- */

/* Detaches the last attached function of p; with the first one, also invalidates the units' caches. Requires:
 * LOCK_IOMMU held, attached is not 0. */
static void iommu_detach_last(uint32_t p)
{
    uint32_t last = 0u;
    for (uint32_t i = 0u; i < NUM_DEVICE && i < iommu_domain[p].attached; i = i + 1u) {
        if (iommu_function[i].owner == p) {
            last = i;
        }
    }
    if (iommu_function[last].owner == p) {
        arch_iommu_detach(iommu_function[last].function);
    }
    iommu_domain[p].attached = last;
    if (last == 0u) {
        arch_iommu_invalidate(p + 1u);
    }
}

uint32_t iommu_destroy_step(uint32_t p)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t more = 0u;
    spinlock_acquire(LOCK_IOMMU);
    if (iommu_domain[p].attached != 0u) {
        iommu_detach_last(p);
        more = 1u;
    } else if (iommu_domain[p].root != NONE) {
        more = iommu_drop_table(p, iommu_domain[p].root, levels);
        if (more == 0u) {
            iommu_domain[p].root = NONE;
        }
    }
    spinlock_release(LOCK_IOMMU);
    return more;
}

#if DEBUG
#include "iommu_check.c"
#endif
