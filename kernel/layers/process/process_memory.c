/* Operations on processes' address spaces. A CPU *uses* the pages of a process while it finds a frame and does something with
 * it: in between, the page cannot be unmapped and its frame cannot be reused. It maps pages in the same way, so that one which
 * is found not to be mapped stays so. It marks the process for that, so that no lock is held while others are taken; who finds
 * the mark calls again. Tables are made before. */
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

/* One cache line each. Guarded by LOCK_PROCESS_SPACE_BASE + p. */
struct process_space {
    uint32_t used; /* 1: a CPU uses p's pages */
    uint32_t spare[15];
};

static struct process_space process_space[NUM_PROCESS];

void process_memory_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        process_space[p].used = 0u;
    }
}

uint32_t process_use_pages(uint32_t p)
{
    uint32_t mine = 0u;
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    if (process_space[p].used == 0u) {
        process_space[p].used = 1u;
        mine = 1u;
    }
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
    return mine;
}

void process_leave_pages(uint32_t p)
{
    spinlock_acquire(LOCK_PROCESS_SPACE_BASE + p);
    process_space[p].used = 0u;
    spinlock_release(LOCK_PROCESS_SPACE_BASE + p);
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

uint32_t process_add_table(uint32_t p, uint64_t vaddr, uint32_t frames)
{
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

uint32_t process_place(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return STATUS_RESTART;
    }
    uint32_t status = pagemap_map(p, vaddr, frame, prot, kind);
    process_leave_pages(p);
    return status;
}

uint32_t process_place_new(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t frame = frame_alloc(p);
    if (frame == FRAME_NO_QUOTA) {
        return ERR_QUOTA;
    }
    if (frame == NONE) {
        return ERR_NO_MEMORY;
    }
    uint32_t status = process_place(p, vaddr, frame, prot, PAGEMAP_OWNED);
    if (status != STATUS_OK) {
        frame_remove_owner(frame, p);
    }
    return status;
}

uint32_t process_give_page(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = STATUS_OK;
    uint32_t missing = pagemap_missing(p, vaddr);
    if (missing != 0u) {
        status = process_add_table(p, vaddr, missing + 1u);
        return status;
    }
    uint64_t old = pagemap_walk(p, vaddr);
    if (old != 0ul) {
        return ERR_ALREADY_MAPPED;
    }
    status = process_place_new(p, vaddr, prot);
    return status;
}

uint32_t process_show_page(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind)
{
    uint32_t status = STATUS_OK;
    uint32_t missing = pagemap_missing(p, vaddr);
    if (missing != 0u) {
        status = process_add_table(p, vaddr, missing);
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
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return PROCESS_PAGES_USED;
    }
    uint32_t frame = pagemap_frame(p, vaddr, prot);
    if (frame != NONE) {
        pagemap_pin(p, vaddr);
    }
    process_leave_pages(p);
    return frame;
}

uint32_t process_offer_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = ERR_BAD_ADDRESS;
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return STATUS_RESTART;
    }
    uint32_t frame = pagemap_frame(p, vaddr, prot);
    if (frame != NONE) {
        status = share_offer(s, p, frame);
    }
    process_leave_pages(p);
    return status;
}

uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = STATUS_OK;
    /* First everything that may fail, so that a failure leaves the offer standing. */
    uint32_t missing = pagemap_missing(p, vaddr);
    if (missing != 0u) {
        status = process_add_table(p, vaddr, missing + 1u);
        return status;
    }
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return STATUS_RESTART;
    }
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
    process_leave_pages(p);
    return status;
}
