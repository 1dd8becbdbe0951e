/* Domains of devices, and which functions are attached to them. */
#include "iommu.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "iommu_parts.h"
#include "spinlock.h"
#include "tables.h"

#define NUM_FUNCTION 65536u /* PCI functions: bus, device, function in 16 bits */

/* Constant after start-up. */
struct iommu_function {
    uint32_t function;
    uint32_t owner; /* NONE: no entry */
};

/* Guarded by LOCK_IOMMU. The domain id of process p is p + 1, because some units reserve 0. */
struct iommu_domain {
    uint64_t cursor;   /* freeing of the tables: tables_drop */
    uint32_t root;     /* frame; NONE: there is no domain */
    uint32_t attached; /* p's functions before this index of iommu_function are attached */
    uint32_t updated;  /* units before this number have dropped what was changed last; NONE: nothing was */
    uint32_t changed;  /* the function attached or detached last */
    uint32_t fresh;    /* a table that is not linked yet, or NONE */
    uint32_t shown;    /* parts of it that units see */
};

static struct iommu_function iommu_function[NUM_DEVICE];
static struct iommu_domain iommu_domain[NUM_PROCESS];

/* The owner of each PCI function, NUM_PROCESS if it has none. Constant after start-up. */
static uint8_t iommu_owner_of[NUM_FUNCTION];

_Static_assert(NUM_PROCESS < 256u, "a process's number is a byte of iommu_owner_of");

void iommu_init(void)
{
    for (uint32_t i = 0u; i < NUM_DEVICE; i = i + 1u) {
        iommu_function[i].function = 0u;
        iommu_function[i].owner = NONE;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        iommu_domain[p].root = NONE;
        iommu_domain[p].attached = 0u;
        iommu_domain[p].updated = NONE;
        iommu_domain[p].changed = 0u;
        iommu_domain[p].fresh = NONE;
        iommu_domain[p].shown = 0u;
        iommu_domain[p].cursor = 0ul;
    }
    for (uint32_t function = 0u; function < NUM_FUNCTION; function = function + 1u) {
        iommu_owner_of[function] = (uint8_t)NUM_PROCESS;
    }
    iommu_fault_init();
}

uint32_t iommu_owner(uint32_t function)
{
    uint32_t owner = (uint32_t)iommu_owner_of[function];
    if (owner == NUM_PROCESS) {
        return NONE;
    }
    return owner;
}

void iommu_define(uint32_t function, uint32_t owner)
{
    uint32_t known = iommu_owner(function);
    for (uint32_t i = 0u; i < NUM_DEVICE && known == NONE; i = i + 1u) {
        if (iommu_function[i].owner == NONE) {
            iommu_function[i].function = function;
            iommu_function[i].owner = owner;
            iommu_owner_of[function] = (uint8_t)owner;
            known = owner;
        }
    }
}

/* One step of adding a table for address to p's domain, or of making the domain: makes the table, shows a part of it to
 * the units, or links it. Returns STATUS_RESTART, ERR_QUOTA or ERR_NO_MEMORY. Requires: LOCK_IOMMU held, so many tables are
 * missing. */
static uint32_t iommu_grow(uint32_t p, uint64_t address, uint32_t levels, uint32_t missing)
{
    uint32_t fresh = iommu_domain[p].fresh;
    uint32_t shown = iommu_domain[p].shown;
    if (fresh == NONE) {
        uint32_t status = tables_room(p, missing);
        if (status != STATUS_OK) {
            return status;
        }
        fresh = tables_new(p);
        if (fresh >= NUM_FRAME) {
            status = tables_error(fresh);
            return status;
        }
        iommu_domain[p].fresh = fresh;
        iommu_domain[p].shown = 0u;
    } else if (shown < ARCH_IOMMU_PARTS) {
        arch_iommu_publish(fresh, shown);
        iommu_domain[p].shown = shown + 1u;
    } else {
        if (iommu_domain[p].root == NONE) {
            iommu_domain[p].root = fresh;
            iommu_domain[p].cursor = 0ul;
        } else {
            tables_link(TABLES_DEVICE, iommu_domain[p].root, levels, address, fresh);
        }
        iommu_domain[p].fresh = NONE;
    }
    return STATUS_RESTART;
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

/* The next unit that has not been told of what has changed, or NONE. Requires: LOCK_IOMMU held. */
static uint32_t iommu_untold_unit(uint32_t p)
{
    uint32_t units = arch_iommu_units();
    uint32_t unit = iommu_domain[p].updated;
    if (unit >= units) {
        return NONE;
    }
    return unit;
}

/* Lets a unit drop what has been changed. Requires: LOCK_IOMMU held. */
static void iommu_tell(uint32_t p, uint32_t unit)
{
    arch_iommu_update(unit, iommu_domain[p].changed, p + 1u);
    iommu_domain[p].updated = unit + 1u;
}

/* Attaches the next of p's functions, if any is left: STATUS_RESTART, else STATUS_OK. Requires: LOCK_IOMMU held, p has a
 * domain. */
static uint32_t iommu_attach_next(uint32_t p)
{
    uint32_t next = iommu_next_function(p, iommu_domain[p].attached);
    if (next == NUM_DEVICE) {
        iommu_domain[p].attached = NUM_DEVICE;
        return STATUS_OK;
    }
    uint32_t function = iommu_function[next].function;
    arch_iommu_attach(function, p + 1u, iommu_domain[p].root);
    iommu_domain[p].attached = next + 1u;
    iommu_domain[p].changed = function;
    iommu_domain[p].updated = 0u;
    return STATUS_RESTART;
}

/* Maps one page in a tree of tables that has all tables for it. Requires: LOCK_IOMMU held. */
static uint32_t iommu_map_page(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot, uint32_t levels)
{
    uint64_t old = tables_leaf(TABLES_DEVICE, iommu_domain[p].root, levels, address);
    if (old == 0ul) {
        uint64_t leaf = arch_iommu_leaf(frame, prot);
        tables_store(TABLES_DEVICE, iommu_domain[p].root, levels, address, leaf);
        uint32_t cached = arch_iommu_caches_absent();
        if (cached == 1u) {
            iommu_domain[p].updated = 0u;
            return STATUS_RESTART;
        }
    } else {
        uint32_t mapped = arch_iommu_frame(old);
        if (mapped != frame) {
            return ERR_ALREADY_MAPPED;
        }
    }
    uint32_t status = iommu_attach_next(p);
    return status;
}

uint32_t iommu_present(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return 0u;
    }
    return 1u;
}

uint32_t iommu_map(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t status = STATUS_RESTART;
    if (levels == 0u) {
        return STATUS_OK;
    }
    spinlock_acquire(LOCK_IOMMU);
    uint32_t unit = iommu_untold_unit(p);
    if (unit != NONE) {
        iommu_tell(p, unit);
    } else {
        uint32_t missing = levels;
        if (iommu_domain[p].root != NONE) {
            missing = tables_missing(TABLES_DEVICE, iommu_domain[p].root, levels, address);
        }
        if (missing > 0u) {
            status = iommu_grow(p, address, levels, missing);
        } else {
            status = iommu_map_page(p, address, frame, prot, levels);
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
    if (levels != 0u && iommu_domain[p].root != NONE && address < IOMMU_ADDRESS_END) {
        uint64_t leaf = tables_leaf(TABLES_DEVICE, iommu_domain[p].root, levels, address);
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

/* Detaches the last attached function of p. Requires: LOCK_IOMMU held, attached is not 0. */
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
        iommu_domain[p].changed = iommu_function[last].function;
        iommu_domain[p].updated = 0u;
    }
    iommu_domain[p].attached = last;
}

/* Frees the table that was made and not linked. Requires: LOCK_IOMMU held, there is one. */
static void iommu_drop_fresh(uint32_t p)
{
    frame_remove_owner(iommu_domain[p].fresh, p);
    iommu_domain[p].fresh = NONE;
}

/* One step of freeing p's tables. Returns 1 if there is more to do. Requires: LOCK_IOMMU held, p has a domain to which
 * nothing is attached, and no unit uses it. */
static uint32_t iommu_drop_table(uint32_t p, uint32_t levels)
{
    uint64_t cursor = tables_drop(TABLES_DEVICE, p, iommu_domain[p].root, levels, iommu_domain[p].cursor);
    iommu_domain[p].cursor = cursor;
    if (cursor == TABLES_GONE) {
        iommu_domain[p].root = NONE;
        return 0u;
    }
    return 1u;
}

uint32_t iommu_destroy_step(uint32_t p)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t more = 1u;
    if (levels == 0u) {
        return 0u;
    }
    spinlock_acquire(LOCK_IOMMU);
    uint32_t unit = iommu_untold_unit(p);
    if (unit != NONE) {
        iommu_tell(p, unit);
    } else if (iommu_domain[p].attached != 0u) {
        iommu_detach_last(p);
    } else if (iommu_domain[p].fresh != NONE) {
        iommu_drop_fresh(p);
    } else if (iommu_domain[p].root != NONE) {
        more = iommu_drop_table(p, levels);
    } else {
        more = 0u;
    }
    spinlock_release(LOCK_IOMMU);
    return more;
}

#if DEBUG
#include "iommu_check.c"
#endif
