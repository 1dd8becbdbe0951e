/* Operations on processes' address spaces. The space lock makes finding a frame and using it one unit: in between,
 * the page cannot be unmapped and its frame cannot be reused. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "share.h"
#include "spinlock.h"
#include "thread.h"

/* Of a LOADING process: a cleared frame of it that its next copied page takes, or NONE. Guarded by
 * LOCK_PROCESS_BASE + p. */
static uint32_t process_spare[NUM_PROCESS];

void process_memory_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        process_spare[p] = NONE;
    }
}

uint32_t process_page_valid(uint64_t vaddr)
{
    if (vaddr % 4096ul != 0ul || vaddr < USER_BASE || vaddr >= USER_END) {
        return 0u;
    }
    if (vaddr >= MESSAGE_VADDR && vaddr < MESSAGE_VADDR + NUM_THREAD * 4096ul) {
        return 0u;
    }
    return 1u;
}

uint32_t process_prot_valid(uint64_t prot)
{
    if (prot > (uint64_t)(PROT_READ | PROT_WRITE | PROT_EXEC) || (prot & PROT_READ) == 0u) {
        return 0u;
    }
    if ((prot & PROT_WRITE) != 0u && (prot & PROT_EXEC) != 0u) {
        return 0u;
    }
    return 1u;
}

/* Makes at most one of the tables that a mapping at vaddr lacks, if the page is not mapped and p's quota holds all of
 * them and `frames` more. Containers share out no more frames than there are, so what is refused is refused before the
 * first table, unless another thread of p has used the quota meanwhile. Returns STATUS_OK (there is none to make);
 * STATUS_RESTART (it made one); ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY. Requires: as process_give_page. */
static uint32_t process_prepare(uint32_t p, uint64_t vaddr, uint32_t frames)
{
    uint64_t old = pagemap_walk(p, vaddr);
    uint32_t missing = pagemap_missing(p, vaddr);
    if (old != 0u) {
        return ERR_ALREADY_MAPPED;
    }
    if (missing > 0u) {
        uint32_t used = container_usage(p);
        uint32_t quota = container_quota(p);
        if (quota - used < missing + frames) {
            return ERR_QUOTA;
        }
    }
    uint32_t status = pagemap_prepare(p, vaddr);
    return status;
}

uint32_t process_give_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = process_prepare(p, vaddr, 1u);
    if (status != STATUS_OK) {
        return status;
    }
    uint32_t frame = frame_alloc(p);
    if (frame == FRAME_NO_QUOTA) {
        return ERR_QUOTA;
    }
    if (frame == NONE) {
        return ERR_NO_MEMORY;
    }
    status = pagemap_map(p, vaddr, frame, prot, PAGEMAP_OWNED);
    if (status != STATUS_OK) {
        frame_remove_owner(frame, p);
    }
    return status;
}

uint32_t process_give_copy(uint32_t p, uint64_t vaddr, uint32_t prot, uint32_t source, uint32_t words)
{
    uint32_t frame = process_spare[p];
    uint32_t frames = 0u;
    if (frame == NONE) {
        frames = 1u;
    }
    uint32_t status = process_prepare(p, vaddr, frames);
    if (status != STATUS_OK) {
        return status;
    }
    if (frame == NONE) {
        frame = frame_alloc(p);
        if (frame == FRAME_NO_QUOTA) {
            return ERR_QUOTA;
        }
        if (frame == NONE) {
            return ERR_NO_MEMORY;
        }
        process_spare[p] = frame;
        return STATUS_RESTART;
    }
    arch_frame_copy(frame, source, 0u, words);
    status = pagemap_map(p, vaddr, frame, prot, PAGEMAP_OWNED);
    if (status == STATUS_OK) {
        process_spare[p] = NONE;
    }
    return status;
}

void process_drop_spare(uint32_t p)
{
    uint32_t frame = process_spare[p];
    if (frame != NONE) {
        process_spare[p] = NONE;
        frame_remove_owner(frame, p);
    }
}

uint32_t process_show_page(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint32_t status = process_prepare(p, vaddr, 0u);
    if (status == STATUS_OK) {
        status = pagemap_map(p, vaddr, frame, prot, kind);
    }
    return status;
}

uint32_t process_map_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t valid = process_page_valid(vaddr);
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t status = process_give_page(p, vaddr, prot);
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

uint32_t process_map_foreign(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t status = process_show_page(p, vaddr, frame, prot, kind);
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

uint32_t process_pin_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t frame = pagemap_frame(p, vaddr, prot);
    if (frame != NONE) {
        pagemap_pin(p, vaddr);
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return frame;
}

uint32_t process_copy_page(uint32_t child, uint64_t to, uint64_t from, uint32_t prot)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t status = STATUS_OK;
    process_lock(child);
    uint32_t state = process_state_locked(child);
    uint32_t undone = process_being_undone(child);
    if (state != PROCESS_LOADING || undone == 1u) {
        status = ERR_BAD_STATE;
    } else {
        spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
        uint32_t source = pagemap_frame(p, from, PROT_READ);
        if (source == NONE) {
            status = ERR_BAD_ADDRESS;
        } else {
            status = process_give_copy(child, to, prot, source, FRAME_WORDS);
        }
        spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    }
    process_unlock(child);
    return status;
}

uint32_t process_offer_page(uint32_t p, uint32_t s, uint64_t vaddr)
{
    uint32_t status = ERR_BAD_ADDRESS;
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t frame = pagemap_frame(p, vaddr, PROT_READ);
    if (frame != NONE) {
        status = share_offer(s, p, frame);
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot)
{
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    /* First everything that may fail, so that a failure leaves the offer standing. */
    uint32_t status = process_prepare(p, vaddr, 1u);
    if (status == STATUS_OK) {
        status = share_accept(s, p);
    }
    if (status == STATUS_OK) {
        uint32_t frame = share_frame(s);
        status = pagemap_map(p, vaddr, frame, prot, PAGEMAP_OWNED);
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}
