/* The allocation table. The owner's container is charged before the table changes and refunded after, so neither lock
 * is held inside the other. */
#include "frame.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame_parts.h"
#include "spinlock.h"

/* All guarded by LOCK_FRAME. Invariant: frame_kind is FRAME_FREE exactly for the frames in the bitmap, FRAME_ALLOCATED
 * exactly for those with an owner. */
static uint64_t frame_owner[NUM_FRAME]; /* bit p: process p */
static uint8_t frame_kind[NUM_FRAME];
static uint32_t frame_free[1]; /* frames in the bitmap */

/* Of an allocated frame: 1 if only kernel code accesses its words, 0 if programs and devices of its owners may. No
 * code branches on it; it records, for the proofs, which words LOCK_FRAME protects. */
static uint8_t frame_private[NUM_FRAME];

void frame_init(void)
{
    for (uint32_t frame = 0u; frame < NUM_FRAME; frame = frame + 1u) {
        frame_owner[frame] = 0ul;
        frame_kind[frame] = (uint8_t)FRAME_RESERVED;
    }
    frame_map_init();
    frame_free[0] = 0u;
}

void frame_make_usable(uint32_t first, uint32_t count)
{
    for (uint32_t i = 0u; i < count; i = i + 1u) {
        uint32_t frame = first + i;
        if ((uint32_t)frame_kind[frame] == FRAME_RESERVED) {
            frame_kind[frame] = (uint8_t)FRAME_FREE;
            frame_map_insert(frame);
            frame_free[0] = frame_free[0] + 1u;
        }
    }
}

/* Takes a free frame for owner, or NONE. Requires: the lock is held. */
static uint32_t frame_take(uint32_t owner)
{
    uint32_t frame = frame_map_find();
    if (frame == NONE) {
        return NONE;
    }
    frame_map_remove(frame);
    frame_free[0] = frame_free[0] - 1u;
    frame_kind[frame] = (uint8_t)FRAME_ALLOCATED;
    frame_owner[frame] = 1ul << owner;
    return frame;
}

uint32_t frame_alloc_private(uint32_t owner)
{
    uint32_t status = container_charge(owner, 1u);
    if (status != STATUS_OK) {
        return FRAME_NO_QUOTA;
    }
    spinlock_acquire(LOCK_FRAME);
    uint32_t frame = frame_take(owner);
    if (frame != NONE) {
        frame_private[frame] = (uint8_t)1u;
    }
    spinlock_release(LOCK_FRAME);
    if (frame == NONE) {
        container_refund(owner, 1u);
        return NONE;
    }
    /* No other CPU knows this frame yet: no lock needed. */
    arch_frame_clear(frame);
    return frame;
}

uint32_t frame_alloc(uint32_t owner)
{
    uint32_t frame = frame_alloc_private(owner);
    if (frame < NUM_FRAME) {
        spinlock_acquire(LOCK_FRAME);
        frame_private[frame] = (uint8_t)0u;
        spinlock_release(LOCK_FRAME);
    }
    return frame;
}

/* Requires: the lock is held. */
static uint32_t frame_add_owner_locked(uint32_t frame, uint32_t p)
{
    uint64_t bit = 1ul << p;
    if ((uint32_t)frame_kind[frame] != FRAME_ALLOCATED || (frame_owner[frame] & bit) != 0ul) {
        return ERR_BAD_STATE;
    }
    frame_owner[frame] = frame_owner[frame] | bit;
    return STATUS_OK;
}

uint32_t frame_add_owner(uint32_t frame, uint32_t p)
{
    if (frame >= NUM_FRAME) {
        return ERR_BAD_STATE;
    }
    uint32_t status = container_charge(p, 1u);
    if (status != STATUS_OK) {
        return status;
    }
    spinlock_acquire(LOCK_FRAME);
    status = frame_add_owner_locked(frame, p);
    spinlock_release(LOCK_FRAME);
    if (status != STATUS_OK) {
        container_refund(p, 1u);
    }
    return status;
}

/* Requires: the lock is held. */
static uint32_t frame_remove_owner_locked(uint32_t frame, uint32_t p)
{
    uint64_t bit = 1ul << p;
    if ((frame_owner[frame] & bit) == 0ul) {
        return ERR_BAD_STATE;
    }
    frame_owner[frame] = frame_owner[frame] & ~bit;
    if (frame_owner[frame] == 0ul) {
        frame_kind[frame] = (uint8_t)FRAME_FREE;
        frame_map_insert(frame);
        frame_free[0] = frame_free[0] + 1u;
    }
    return STATUS_OK;
}

uint32_t frame_remove_owner(uint32_t frame, uint32_t p)
{
    if (frame >= NUM_FRAME) {
        return ERR_BAD_STATE;
    }
    spinlock_acquire(LOCK_FRAME);
    uint32_t status = frame_remove_owner_locked(frame, p);
    spinlock_release(LOCK_FRAME);
    if (status == STATUS_OK) {
        container_refund(p, 1u);
    }
    return status;
}

uint64_t frame_owners(uint32_t frame)
{
    uint64_t owners = 0ul;
    if (frame < NUM_FRAME) {
        spinlock_acquire(LOCK_FRAME);
        owners = frame_owner[frame];
        spinlock_release(LOCK_FRAME);
    }
    return owners;
}

uint32_t frame_state(uint32_t frame)
{
    uint32_t state = FRAME_RESERVED;
    if (frame < NUM_FRAME) {
        spinlock_acquire(LOCK_FRAME);
        state = (uint32_t)frame_kind[frame];
        spinlock_release(LOCK_FRAME);
    }
    return state;
}

uint32_t frame_free_count(void)
{
    spinlock_acquire(LOCK_FRAME);
    uint32_t count = frame_free[0];
    spinlock_release(LOCK_FRAME);
    return count;
}

#if DEBUG
#include "frame_check.c"
#endif
