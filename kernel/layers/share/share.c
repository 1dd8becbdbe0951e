/* Shares. LOCK_SHARE is held while the acceptor becomes an owner, so the offer, and with it the offerer's ownership,
 * cannot end in between. */
#include "share.h"

#include "abi.h"
#include "frame.h"
#include "spinlock.h"

/* Guarded by LOCK_SHARE; from and to are constant after start-up. */
struct share {
    uint32_t from;     /* process that may offer, NONE: not defined */
    uint32_t to;       /* process that may accept */
    uint32_t offered;  /* frame, or NONE */
    uint32_t accepted; /* frame accepted last */
};

static struct share share[NUM_SHARE];
static uint32_t share_offers[NUM_PROCESS]; /* standing offers of each process. Guarded by LOCK_SHARE */

void share_init(void)
{
    for (uint32_t s = 0u; s < NUM_SHARE; s = s + 1u) {
        share[s].from = NONE;
        share[s].to = NONE;
        share[s].offered = NONE;
        share[s].accepted = NONE;
    }
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        share_offers[p] = 0u;
    }
}

void share_define(uint32_t s, uint32_t from, uint32_t to)
{
    share[s].from = from;
    share[s].to = to;
    share[s].offered = NONE;
}

uint32_t share_offer(uint32_t s, uint32_t p, uint32_t frame)
{
    uint32_t status = ERR_BAD_STATE;
    spinlock_acquire(LOCK_SHARE);
    uint64_t owners = frame_owners(frame);
    if (share[s].from == p && share[s].offered == NONE && ((owners >> p) & 1ul) == 1ul) {
        share[s].offered = frame;
        share_offers[p] = share_offers[p] + 1u;
        status = STATUS_OK;
    }
    spinlock_release(LOCK_SHARE);
    return status;
}

/* Ends the offer of s. Requires: the lock is held, `from` is the process that may offer, and its offer stands. */
static void share_clear(uint32_t s, uint32_t from)
{
    share[s].offered = NONE;
    share_offers[from] = share_offers[from] - 1u;
}

/* Requires: the lock is held. */
static uint32_t share_accept_locked(uint32_t s, uint32_t p)
{
    uint32_t frame = share[s].offered;
    if (share[s].to != p) {
        return ERR_BAD_STATE;
    }
    if (frame == NONE) {
        return ERR_WOULD_BLOCK;
    }
    uint32_t status = frame_add_owner(frame, p);
    if (status == STATUS_OK) {
        share[s].accepted = frame;
        share_clear(s, share[s].from);
    }
    return status;
}

uint32_t share_accept(uint32_t s, uint32_t p)
{
    spinlock_acquire(LOCK_SHARE);
    uint32_t status = share_accept_locked(s, p);
    spinlock_release(LOCK_SHARE);
    return status;
}

uint32_t share_frame(uint32_t s)
{
    spinlock_acquire(LOCK_SHARE);
    uint32_t frame = share[s].accepted;
    spinlock_release(LOCK_SHARE);
    return frame;
}

uint32_t share_withdraw(uint32_t s, uint32_t p)
{
    uint32_t status = ERR_BAD_STATE;
    spinlock_acquire(LOCK_SHARE);
    if (share[s].from == p && share[s].offered != NONE) {
        share_clear(s, p);
        status = STATUS_OK;
    }
    spinlock_release(LOCK_SHARE);
    return status;
}

/* Ends p's offers of this frame, or of all frames if frame is NONE. Requires: the lock is held. */
static void share_clear_all(uint32_t p, uint32_t frame)
{
    for (uint32_t s = 0u; s < NUM_SHARE; s = s + 1u) {
        if (share[s].from == p && share[s].offered != NONE) {
            if (frame == NONE || share[s].offered == frame) {
                share_clear(s, p);
            }
        }
    }
}

void share_forget(uint32_t p, uint32_t frame)
{
    spinlock_acquire(LOCK_SHARE);
    if (p < NUM_PROCESS && share_offers[p] != 0u) {
        share_clear_all(p, frame);
    }
    spinlock_release(LOCK_SHARE);
}

void share_process_ended(uint32_t p)
{
    spinlock_acquire(LOCK_SHARE);
    if (p < NUM_PROCESS && share_offers[p] != 0u) {
        share_clear_all(p, NONE);
    }
    spinlock_release(LOCK_SHARE);
}

#if DEBUG
#include "share_check.c"
#endif
