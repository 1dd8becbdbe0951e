/* Operations on processes' address spaces. The space lock makes finding a frame and using it one unit: in between,
 * the page cannot be unmapped and its frame cannot be reused. Pages are mapped under it too, so that one which is found
 * not to be mapped stays so. Tables and frames are made before it is acquired. */
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

/* Of a LOADING process: a cleared frame of it that its next copied page takes, or NONE. Used by the CPU that builds p. */
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

#define PROCESS_MAPPED 4u

/* What a mapping at vaddr lacks: 0 to 3 tables; or PROCESS_MAPPED. Requires: no lock held. */
static uint32_t process_lacks(uint32_t p, uint64_t vaddr)
{
    uint64_t old = pagemap_walk(p, vaddr);
    if (old != 0u) {
        return PROCESS_MAPPED;
    }
    uint32_t missing = pagemap_missing(p, vaddr);
    return missing;
}

/* Makes one of the tables that a mapping at vaddr lacks, if p's quota holds so many frames. Containers share out no more
 * frames than there are, so what is refused is refused before the first table, unless another thread of p has used the quota
 * meanwhile. Returns STATUS_RESTART; ERR_ALREADY_MAPPED (it lacks none, because it is mapped); ERR_QUOTA; ERR_NO_MEMORY.
 * Requires: no lock held. */
static uint32_t process_add_table(uint32_t p, uint64_t vaddr, uint32_t lacks, uint32_t frames)
{
    if (lacks == PROCESS_MAPPED) {
        return ERR_ALREADY_MAPPED;
    }
    uint32_t used = container_usage(p);
    uint32_t quota = container_quota(p);
    if (quota - used < frames) {
        return ERR_QUOTA;
    }
    uint32_t status = pagemap_prepare(p, vaddr);
    if (status == STATUS_OK) {
        status = STATUS_RESTART; /* another thread has made it */
    }
    return status;
}

/* Maps the page, which has all tables. Returns STATUS_OK; ERR_ALREADY_MAPPED (another thread was first). */
static uint32_t process_place(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t status = pagemap_map(p, vaddr, frame, prot, kind);
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

uint32_t process_give_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = STATUS_OK;
    uint32_t lacks = process_lacks(p, vaddr);
    if (lacks != 0u) {
        status = process_add_table(p, vaddr, lacks, lacks + 1u);
        return status;
    }
    uint32_t frame = frame_alloc(p);
    if (frame == FRAME_NO_QUOTA) {
        return ERR_QUOTA;
    }
    if (frame == NONE) {
        return ERR_NO_MEMORY;
    }
    status = process_place(p, vaddr, frame, prot, PAGEMAP_OWNED);
    if (status != STATUS_OK) {
        frame_remove_owner(frame, p);
    }
    return status;
}

/* Clears a frame that p's next copied page takes. Returns STATUS_RESTART; ERR_QUOTA; ERR_NO_MEMORY. Requires: this CPU builds p,
 * which has no spare frame. */
static uint32_t process_make_spare(uint32_t p)
{
    uint32_t frame = frame_alloc(p);
    if (frame == FRAME_NO_QUOTA) {
        return ERR_QUOTA;
    }
    if (frame == NONE) {
        return ERR_NO_MEMORY;
    }
    process_spare[p] = frame;
    return STATUS_RESTART;
}

/* Whether p's copied page at vaddr can be filled and mapped, or a table or the spare frame has to be made first. */
#define COPY_READY 0u
#define COPY_TABLE 1u
#define COPY_SPARE 2u

/* Requires: as process_give_copy. */
static uint32_t process_copy_stage(uint32_t p, uint32_t lacks)
{
    if (lacks != 0u) {
        return COPY_TABLE;
    }
    if (process_spare[p] == NONE) {
        return COPY_SPARE;
    }
    return COPY_READY;
}

/* Makes what the copied page at vaddr lacks: STATUS_RESTART, or as process_add_table. Requires: as process_give_copy, stage is not
 * COPY_READY. */
static uint32_t process_copy_prepare(uint32_t p, uint64_t vaddr, uint32_t lacks, uint32_t stage)
{
    uint32_t frames = lacks;
    uint32_t status = STATUS_OK;
    if (stage == COPY_SPARE) {
        status = process_make_spare(p);
        return status;
    }
    if (process_spare[p] == NONE) {
        frames = lacks + 1u;
    }
    status = process_add_table(p, vaddr, lacks, frames);
    return status;
}

/* Maps the spare frame, which has been filled. Requires: as process_give_copy, process_copy_stage returned COPY_READY. */
static uint32_t process_place_spare(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = process_place(p, vaddr, process_spare[p], prot, PAGEMAP_OWNED);
    if (status == STATUS_OK) {
        process_spare[p] = NONE;
    }
    return status;
}

uint32_t process_give_copy(uint32_t p, uint64_t vaddr, uint32_t prot, uint32_t source, uint32_t words)
{
    uint32_t status = STATUS_OK;
    uint32_t lacks = process_lacks(p, vaddr);
    uint32_t stage = process_copy_stage(p, lacks);
    if (stage != COPY_READY) {
        status = process_copy_prepare(p, vaddr, lacks, stage);
        return status;
    }
    arch_frame_copy(process_spare[p], source, 0u, words);
    status = process_place_spare(p, vaddr, prot);
    return status;
}

uint32_t process_has_spare(uint32_t p)
{
    if (process_spare[p] == NONE) {
        return 0u;
    }
    return 1u;
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
    uint32_t status = STATUS_OK;
    uint32_t lacks = process_lacks(p, vaddr);
    if (lacks != 0u) {
        status = process_add_table(p, vaddr, lacks, lacks);
        return status;
    }
    status = process_place(p, vaddr, frame, prot, kind);
    return status;
}

uint32_t process_map_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t valid = process_page_valid(vaddr);
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t status = process_give_page(p, vaddr, prot);
    return status;
}

uint32_t process_map_foreign(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint32_t status = process_show_page(p, vaddr, frame, prot, kind);
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

/* Fills the spare frame of child from p's page. Returns STATUS_OK or ERR_BAD_ADDRESS. Requires: this CPU builds child, which
 * has a spare frame. */
static uint32_t process_fill_spare(uint32_t child, uint32_t p, uint64_t from)
{
    uint32_t status = ERR_BAD_ADDRESS;
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t source = pagemap_frame(p, from, PROT_READ);
    if (source != NONE) {
        arch_frame_copy(process_spare[child], source, 0u, FRAME_WORDS);
        status = STATUS_OK;
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

/* One step of copying p's page. Requires: this CPU builds child, which is LOADING. */
static uint32_t process_copy_step(uint32_t child, uint64_t to, uint32_t p, uint64_t from, uint32_t prot)
{
    uint32_t status = STATUS_OK;
    uint32_t lacks = process_lacks(child, to);
    uint32_t stage = process_copy_stage(child, lacks);
    if (stage != COPY_READY) {
        uint32_t source = pagemap_frame(p, from, PROT_READ);
        if (source == NONE) {
            return ERR_BAD_ADDRESS;
        }
        status = process_copy_prepare(child, to, lacks, stage);
        return status;
    }
    status = process_fill_spare(child, p, from);
    if (status == STATUS_OK) {
        status = process_place_spare(child, to, prot);
    }
    return status;
}

uint32_t process_copy_page(uint32_t child, uint64_t to, uint64_t from, uint32_t prot)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t status = ERR_BAD_STATE;
    uint32_t mine = 0u;
    process_lock(child);
    uint32_t state = process_state_locked(child);
    uint32_t building = process_being_built(child);
    if (building == 1u) {
        status = STATUS_RESTART;
    } else if (state == PROCESS_LOADING) {
        uint32_t undone = process_being_undone(child);
        if (undone == 0u) {
            process_build_begin(child);
            mine = 1u;
        }
    }
    process_unlock(child);
    if (mine == 1u) {
        status = process_copy_step(child, to, p, from, prot);
        process_build_end(child, PROCESS_LOADING);
    }
    return status;
}

uint32_t process_offer_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = ERR_BAD_ADDRESS;
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint32_t frame = pagemap_frame(p, vaddr, prot);
    if (frame != NONE) {
        status = share_offer(s, p, frame);
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}

uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = STATUS_OK;
    /* First everything that may fail, so that a failure leaves the offer standing. */
    uint32_t lacks = process_lacks(p, vaddr);
    if (lacks != 0u) {
        status = process_add_table(p, vaddr, lacks, lacks + 1u);
        return status;
    }
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    uint64_t old = pagemap_walk(p, vaddr);
    if (old != 0ul) {
        status = ERR_ALREADY_MAPPED;
    } else {
        status = share_accept(s, p);
    }
    if (status == STATUS_OK) {
        uint32_t frame = share_frame(s);
        status = pagemap_map(p, vaddr, frame, prot, PAGEMAP_OWNED);
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return status;
}
