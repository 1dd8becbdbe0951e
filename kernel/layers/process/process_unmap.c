/* Unmapping a page. Its frame is freed only when no CPU holds a translation of it: the other CPUs of the process are asked
 * to drop theirs, then awaited, one a step. Progress is kept with the thread, so that interrupts can be served, and the
 * thread be ended, after any step. */
#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "share.h"
#include "thread.h"
#include "tlb.h"

/* Used by the thread itself, and when all threads of its process have ended by the last of them. */
struct unmapping {
    uint64_t vaddr;
    uint64_t ask;    /* bit c: CPU c has not been asked yet to drop its translation */
    uint64_t await;  /* bit c: CPU c may still use its translation */
    uint32_t active; /* 1: the page is unmapped, and the rest is to be done */
    uint32_t frame;  /* to be freed; NONE: the page was not the process's own */
};

static struct unmapping unmapping[NUM_THREAD];

void process_unmap_init(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        unmapping[t].active = 0u;
    }
}

/* Unmaps the page in p's map. Requires: this CPU uses p's pages. */
static uint32_t process_unmap_used(uint32_t p, uint64_t vaddr, uint32_t t)
{
    uint64_t entry = pagemap_walk(p, vaddr);
    if (entry == 0u) {
        return ERR_BAD_ADDRESS;
    }
    if ((entry & ARCH_PTE_PINNED) != 0u) {
        return ERR_BAD_STATE;
    }
    pagemap_unmap(p, vaddr);
    unmapping[t].frame = NONE;
    if ((entry & ARCH_PTE_OWNED) != 0u) {
        uint64_t frame = (entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT;
        unmapping[t].frame = (uint32_t)frame;
    }
    return STATUS_OK;
}

static uint32_t process_unmap_begin(uint32_t p, uint64_t vaddr, uint32_t t)
{
    uint32_t valid = process_page_valid(vaddr);
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return STATUS_RESTART;
    }
    uint32_t status = process_unmap_used(p, vaddr, t);
    uint32_t frame = unmapping[t].frame;
    process_leave_pages(p);
    if (status != STATUS_OK) {
        return status;
    }
    /* A page that is not mapped cannot be offered any more, so all its offers are there. */
    if (frame != NONE) {
        share_forget(p, frame);
    }
    arch_tlb_invalidate_page(vaddr);
    uint64_t others = tlb_others(p);
    unmapping[t].vaddr = vaddr;
    unmapping[t].ask = others;
    unmapping[t].await = others;
    unmapping[t].active = 1u;
    return STATUS_RESTART;
}

/* Frees the frame. Requires: no CPU uses a translation of it. */
static void process_unmap_end(uint32_t p, uint32_t t)
{
    uint32_t frame = unmapping[t].frame;
    unmapping[t].active = 0u;
    if (frame != NONE) {
        frame_remove_owner(frame, p);
    }
}

/* One step. Requires: t is unmapping a page. */
static uint32_t process_unmap_step(uint32_t p, uint32_t t)
{
    if (unmapping[t].ask != 0ul) {
        uint32_t cpu = arch_highest_bit(unmapping[t].ask);
        unmapping[t].ask = unmapping[t].ask & ~(1ul << cpu);
        tlb_ask(cpu);
        return STATUS_RESTART;
    }
    if (unmapping[t].await != 0ul) {
        uint32_t cpu = arch_highest_bit(unmapping[t].await);
        unmapping[t].await = unmapping[t].await & ~(1ul << cpu);
        tlb_await_asked(cpu);
        return STATUS_RESTART;
    }
    process_unmap_end(p, t);
    return STATUS_OK;
}

uint32_t process_unmap_page(uint32_t p, uint64_t vaddr)
{
    uint32_t t = thread_current();
    if (unmapping[t].active == 0u) {
        uint32_t begun = process_unmap_begin(p, vaddr, t);
        return begun;
    }
    uint64_t before = unmapping[t].vaddr;
    uint32_t status = process_unmap_step(p, t);
    if (status == STATUS_OK && before != vaddr) {
        /* That was the page of an earlier call, which the thread left for good. */
        status = STATUS_RESTART;
    }
    return status;
}

uint32_t process_unmap_forget(uint32_t p, uint32_t index)
{
    uint32_t first = process_first_thread(p);
    uint32_t count = process_num_threads(p);
    if (index >= count) {
        return 0u;
    }
    if (unmapping[first + index].active == 1u) {
        process_unmap_end(p, first + index);
    }
    return 1u;
}
