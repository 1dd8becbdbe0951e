/* Domains of devices. A path of new tables is built bottom-up and linked by one store, so that a device, and an error half-way,
 * see either nothing or everything. */
#include "iommu.h"

#include "abi.h"
#include "arch.h"
#include "console.h"
#include "frame.h"
#include "intc.h"
#include "spinlock.h"

#define IOMMU_INDEX_MASK 511ul
#define IOMMU_LEVELS 4u /* of tables, at most: arch_iommu_levels gives 3 or 4 */
#define IOMMU_TAKEN 4u  /* refusals taken in one piece */
#define IOMMU_TOLD 32u  /* refusals told since start-up; the rest is counted */

/* Constant after start-up. */
struct iommu_function {
    uint32_t function;
    uint32_t owner; /* NONE: no entry */
};

/* Guarded by LOCK_DEVICE. A process's domain is its number plus one: 0 has a meaning of its own in some units. */
struct iommu_domain {
    uint32_t root; /* frame; NONE: there is no domain */
    uint32_t attached; /* p's functions before this index of iommu_function are attached */
    uint64_t faults;
};

static struct iommu_function iommu_function[NUM_DEVICE];
static struct iommu_domain iommu_domain[NUM_PROCESS];
static uint64_t iommu_stray; /* refusals of functions that nobody has; guarded by LOCK_DEVICE */
static uint32_t iommu_told;  /* guarded by LOCK_DEVICE */
static uint64_t iommu_turn;  /* bit u: unit u has not had its turn since the others; guarded by LOCK_DEVICE */

void iommu_init(void)
{
    for (uint32_t i = 0u; i < NUM_DEVICE; i = i + 1u) {
        iommu_function[i].function = 0u;
        iommu_function[i].owner = NONE;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        iommu_domain[p].root = NONE;
        iommu_domain[p].attached = 0u;
        iommu_domain[p].faults = 0ul;
    }
    iommu_stray = 0ul;
    iommu_told = 0u;
    iommu_turn = 0ul;
}

/* The owner of a function, or NONE. */
static uint32_t iommu_owner(uint32_t function)
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

/* Word of the entry for address in a table of this level; level 0 holds the pages. */
static uint32_t iommu_index(uint64_t address, uint32_t level)
{
    uint64_t shifted = address >> (12u + 9u * level);
    return (uint32_t)(shifted & IOMMU_INDEX_MASK);
}

/* A cleared table charged to p: its frame, FRAME_NO_QUOTA or NONE. */
static uint32_t iommu_new_table(uint32_t p)
{
    uint32_t fresh = frame_alloc(p);
    if (fresh < NUM_FRAME) {
        arch_iommu_publish(fresh);
    }
    return fresh;
}

static uint32_t iommu_error(uint32_t refused)
{
    uint32_t status = ERR_NO_MEMORY;
    if (refused == FRAME_NO_QUOTA) {
        status = ERR_QUOTA;
    }
    return status;
}

/* Gives back a path of tables for address that was never linked: top is its table of level `level`. */
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
 * `levels`. Requires: LOCK_DEVICE held. Ensures: on an error nothing is changed. */
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
            uint32_t status = iommu_error(fresh);
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

/* Requires: LOCK_DEVICE held, p has a domain. */
static uint32_t iommu_map_locked(uint32_t p, uint32_t frame, uint32_t prot, uint32_t levels)
{
    uint64_t address = (uint64_t)frame << 12u;
    uint64_t leaf = arch_iommu_leaf(frame, prot);
    uint32_t table = iommu_domain[p].root;
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

/* Makes p's domain, empty. Requires: LOCK_DEVICE held, it has none. */
static uint32_t iommu_create(uint32_t p)
{
    uint32_t root = iommu_new_table(p);
    if (root >= NUM_FRAME) {
        uint32_t status = iommu_error(root);
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

/* Attaches one of p's functions, if one is not attached. Returns STATUS_OK if all are, else STATUS_RESTART. Requires:
 * LOCK_DEVICE held, p has a domain. */
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
    spinlock_acquire(LOCK_DEVICE);
    if (iommu_domain[p].root == NONE) {
        status = iommu_create(p);
        if (status == STATUS_OK) {
            status = STATUS_RESTART;
        }
    } else {
        status = iommu_map_locked(p, frame, prot, levels);
        if (status == STATUS_OK) {
            status = iommu_attach_next(p);
            arch_iommu_added(p + 1u);
        } else if (iommu_domain[p].attached == 0u) {
            frame_remove_owner(iommu_domain[p].root, p); /* it has no page yet */
            iommu_domain[p].root = NONE;
        }
    }
    spinlock_release(LOCK_DEVICE);
    return status;
}

/* Requires: LOCK_DEVICE held, p has a domain. */
static uint64_t iommu_leaf(uint32_t p, uint64_t address, uint32_t levels)
{
    uint32_t table = iommu_domain[p].root;
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

uint32_t iommu_walk(uint32_t p, uint64_t address, uint32_t write)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t frame = NONE;
    spinlock_acquire(LOCK_DEVICE);
    if (levels != 0u && iommu_domain[p].root != NONE && address < (uint64_t)NUM_FRAME * 4096ul) {
        uint64_t leaf = iommu_leaf(p, address, levels);
        if (leaf != 0ul) {
            frame = arch_iommu_frame(leaf);
            uint64_t writable = arch_iommu_leaf(frame, PROT_READ | PROT_WRITE);
            if (write == 1u && leaf != writable) {
                frame = NONE;
            }
        }
    }
    spinlock_release(LOCK_DEVICE);
    return frame;
}

/* ---- the end of a domain ---- */

/* Takes the domain from the last of p's functions that has it; with the first one, also what units have kept is gone. Requires:
 * LOCK_DEVICE held, attached is not 0. */
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

/* Gives back the first table that has no table below it; level 0 holds pages, which need no visit. Progress is in the tables:
 * the entry that named it is cleared. Requires: LOCK_DEVICE held, p has a domain, which nobody uses. */
static uint32_t iommu_drop_table(uint32_t p, uint32_t levels)
{
    uint32_t parent = iommu_domain[p].root;
    uint32_t used = iommu_next_used(parent, 0u);
    if (used == FRAME_WORDS) {
        frame_remove_owner(parent, p);
        iommu_domain[p].root = NONE;
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

uint32_t iommu_destroy_step(uint32_t p)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t more = 0u;
    spinlock_acquire(LOCK_DEVICE);
    if (iommu_domain[p].attached != 0u) {
        iommu_detach_last(p);
        more = 1u;
    } else if (iommu_domain[p].root != NONE) {
        more = iommu_drop_table(p, levels);
    }
    spinlock_release(LOCK_DEVICE);
    return more;
}

/* ---- refused accesses ---- */

/* Appends the lowest `digits` hexadecimal digits of value, at most 8, to the kernel's console. */
static void iommu_tell_number(uint64_t value, uint32_t digits)
{
    uint64_t text = 0ul; /* lowest byte first */
    for (uint32_t i = 0u; i < digits && i < 8u; i = i + 1u) {
        uint64_t digit = (value >> (4u * i)) & 15ul;
        uint64_t letter = digit + 0x30ul;
        if (digit > 9ul) {
            letter = digit + 0x57ul;
        }
        text = (text << 8u) | letter;
    }
    console_put(0u, text, digits);
}

/* "iommu: FUNCTION r|w ADDRESS", or as much of it as the console takes. Words of text, lowest byte first. */
static void iommu_tell(uint32_t function, uint32_t write, uint64_t address)
{
    uint64_t kind = 0x207220ul; /* " r " */
    if (write == 1u) {
        kind = 0x207720ul; /* " w " */
    }
    console_put(0u, 0x203a756d6d6f69ul, 7u); /* "iommu: " */
    iommu_tell_number((uint64_t)function, 4u);
    console_put(0u, kind, 3u);
    iommu_tell_number(address >> 32u, 8u);
    iommu_tell_number(address, 8u);
    console_put(0u, 0x0aul, 1u);
}

/* Counts one refusal. Requires: LOCK_DEVICE held. */
static void iommu_count(uint32_t fault, uint64_t address)
{
    uint32_t function = fault & 0xffffu;
    uint32_t owner = iommu_owner(function);
    if (owner == NONE) {
        iommu_stray = iommu_stray + 1ul;
    } else {
        iommu_domain[owner].faults = iommu_domain[owner].faults + 1ul;
    }
    if (iommu_told < IOMMU_TOLD) {
        iommu_told = iommu_told + 1u;
        iommu_tell(function, (fault >> 16u) & 1u, address);
    }
}

/* The unit whose turn it is among those that have refused something. */
static uint32_t iommu_next_unit(uint64_t refused)
{
    uint64_t turn = refused & iommu_turn;
    if (turn == 0ul) {
        turn = refused;
    }
    uint32_t unit = arch_highest_bit(turn);
    iommu_turn = turn & ~(1ul << unit);
    return unit;
}

/* Takes refusals of one piece. Returns 1 if there may be more, of which somebody is to hear. Requires: LOCK_DEVICE held. */
static uint32_t iommu_take_some(void)
{
    uint64_t refused = arch_iommu_refused();
    uint32_t before = iommu_told;
    for (uint32_t i = 0u; i < IOMMU_TAKEN && refused != 0ul; i = i + 1u) {
        uint32_t unit = iommu_next_unit(refused);
        uint32_t fault = arch_iommu_fault(unit);
        if (fault == NONE) {
            refused = refused & ~(1ul << unit);
        } else {
            uint64_t address = arch_iommu_fault_address();
            iommu_count(fault, address);
        }
    }
    if (iommu_told == IOMMU_TOLD) {
        if (before < IOMMU_TOLD) {
            arch_iommu_listen(NONE, 0u);
        }
        return 0u;
    }
    if (refused == 0ul) {
        return 0u;
    }
    return 1u;
}

void iommu_take_faults(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return;
    }
    spinlock_acquire(LOCK_DEVICE);
    uint32_t more = iommu_take_some();
    spinlock_release(LOCK_DEVICE);
    if (more == 1u) {
        uint32_t cpu = arch_cpu();
        intc_send(cpu, VECTOR_IOMMU);
    }
}

void iommu_notice(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return;
    }
    spinlock_acquire(LOCK_DEVICE);
    uint64_t refused = arch_iommu_refused();
    spinlock_release(LOCK_DEVICE);
    if (refused != 0ul) {
        uint32_t cpu = arch_cpu();
        intc_send(cpu, VECTOR_IOMMU);
    }
}

void iommu_listen(uint32_t cpu)
{
    uint32_t levels = arch_iommu_levels();
    if (levels != 0u) {
        arch_iommu_listen(cpu, VECTOR_IOMMU);
    }
}

uint64_t iommu_faults(uint32_t p)
{
    uint64_t faults = 0ul;
    spinlock_acquire(LOCK_DEVICE);
    faults = iommu_stray;
    if (p < NUM_PROCESS) {
        faults = iommu_domain[p].faults;
    }
    spinlock_release(LOCK_DEVICE);
    return faults;
}

/* ---- invariant walk (debug builds) ---- */

/* 1 if p is an owner of the frame. */
static uint32_t iommu_owns(uint32_t p, uint32_t frame)
{
    uint64_t owners = frame_owners(frame);
    uint64_t own = (owners >> p) & 1ul;
    return (uint32_t)own;
}

/* Every entry of a table names a frame of p. Returns 0 or the broken rule. */
static uint32_t iommu_check_table(uint32_t p, uint32_t table)
{
    for (uint32_t index = 0u; index < FRAME_WORDS; index = index + 1u) {
        uint64_t entry = arch_frame_read(table, index);
        if (entry != 0ul) {
            uint32_t frame = arch_iommu_frame(entry);
            uint32_t own = iommu_owns(p, frame);
            if (own == 0u) {
                return 1u;
            }
        }
    }
    return 0u;
}

/* The tables below one of level 2, which is the highest that can have more than one entry: all frames lie below 4 GiB. */
static uint32_t iommu_check_below(uint32_t p, uint32_t table)
{
    uint32_t broken = iommu_check_table(p, table);
    for (uint32_t i = 0u; i < FRAME_WORDS && broken == 0u; i = i + 1u) {
        uint64_t upper = arch_frame_read(table, i);
        if (upper != 0ul) {
            uint32_t middle = arch_iommu_frame(upper);
            broken = iommu_check_table(p, middle);
            for (uint32_t k = 0u; k < FRAME_WORDS && broken == 0u; k = k + 1u) {
                uint64_t lower = arch_frame_read(middle, k);
                if (lower != 0ul) {
                    uint32_t lowest = arch_iommu_frame(lower);
                    broken = iommu_check_table(p, lowest);
                }
            }
        }
    }
    return broken;
}

uint32_t iommu_check(void)
{
    uint32_t levels = arch_iommu_levels();
    uint32_t broken = 0u;
    for (uint32_t p = 0u; p < NUM_PROCESS && broken == 0u; p = p + 1u) {
        uint32_t table = iommu_domain[p].root;
        if (table != NONE) {
            uint32_t own = iommu_owns(p, table);
            if (own == 0u) {
                return 2u;
            }
            if (levels == 4u) {
                broken = iommu_check_table(p, table);
                uint64_t first = arch_frame_read(table, 0u);
                table = arch_iommu_frame(first);
            }
            if (broken == 0u && table != 0u) {
                broken = iommu_check_below(p, table);
            }
        } else if (iommu_domain[p].attached != 0u) {
            return 3u;
        }
    }
    return broken;
}
