/* Pages that begin as copies. A frame of the process is cleared, filled a piece at a time, and mapped when it is complete, with
 * a preemption point between any two of these steps: so that copying a page keeps no interrupt waiting for long, and no thread
 * sees half a copy. */
#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "thread.h"

#define COPY_PIECE_WORDS 128u /* of one step, which bounds the time between two preemption points */

/* Of a LOADING process: the frame that its next copied page takes. Its first `pieces` pieces are those of frame `source`, which
 * are copied for thread `reader`, the others zero. Used by the CPU that builds p. A page may change after a call that copies it:
 * so no other call goes on with these pieces, that of another thread or one that is made after this one has failed. */
struct process_copy {
    uint32_t spare; /* NONE: there is none */
    uint32_t source;
    uint32_t pieces;
    uint32_t reader; /* NONE: the source is a page of the image, which stays; COPY_ENDED: its call has ended */
};

#define COPY_ENDED 0xfffffffeu

static struct process_copy process_copy[NUM_PROCESS];

void process_copy_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        process_copy[p].spare = NONE;
        process_copy[p].pieces = 0u;
    }
}

uint32_t process_has_spare(uint32_t p)
{
    if (process_copy[p].spare == NONE) {
        return 0u;
    }
    return 1u;
}

void process_drop_spare(uint32_t p)
{
    uint32_t frame = process_copy[p].spare;
    if (frame != NONE) {
        process_copy[p].spare = NONE;
        frame_remove_owner(frame, p);
    }
}

void process_forget_pieces(uint32_t p)
{
    process_copy[p].reader = COPY_ENDED;
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
    process_copy[p].spare = frame;
    process_copy[p].pieces = 0u;
    return STATUS_RESTART;
}

/* The next step of a copied page, once it lacks no table: makes the spare frame; frees that frame, since another copy was begun
 * in it and not completed; fills a piece of it; maps it; or none, since a page is mapped there. */
#define COPY_MAPPED 0u
#define COPY_SPARE 1u
#define COPY_STALE 2u
#define COPY_FILL 3u
#define COPY_MAP 4u

/* The next step of p's copy of the first `words` words of frame source for `reader`, to an address that lacks no table. Requires:
 * this CPU builds p. Of a source the same number of words is copied each time: a page of the image by its segment, which is loaded
 * page by page; a page of a process whole. */
static uint32_t process_copy_stage(uint32_t p, uint64_t vaddr, uint32_t source, uint32_t reader, uint32_t words)
{
    uint32_t filled = process_copy[p].pieces * COPY_PIECE_WORDS;
    uint64_t old = pagemap_walk(p, vaddr);
    if (old != 0ul) {
        return COPY_MAPPED;
    }
    if (process_copy[p].spare == NONE) {
        return COPY_SPARE;
    }
    if (filled > 0u && (process_copy[p].source != source || process_copy[p].reader != reader)) {
        return COPY_STALE;
    }
    if (filled < words) {
        return COPY_FILL;
    }
    return COPY_MAP;
}

uint32_t process_copy_prepare(uint32_t p, uint64_t vaddr, uint32_t missing)
{
    uint32_t frames = missing;
    uint32_t status = STATUS_OK;
    if (missing == 0u) {
        status = process_make_spare(p);
        return status;
    }
    if (process_copy[p].spare == NONE) {
        frames = missing + 1u;
    }
    status = process_add_table(p, vaddr, frames);
    return status;
}

/* Fills the next piece of p's spare frame. Requires: as process_copy_stage, which returned COPY_FILL; the source cannot be freed
 * meanwhile. */
static void process_fill_piece(uint32_t p, uint32_t source, uint32_t reader, uint32_t words)
{
    uint32_t pieces = process_copy[p].pieces;
    uint32_t filled = pieces * COPY_PIECE_WORDS;
    uint32_t piece = words - filled;
    if (piece > COPY_PIECE_WORDS) {
        piece = COPY_PIECE_WORDS;
    }
    arch_frame_copy_piece(process_copy[p].spare, source, filled, piece);
    process_copy[p].source = source;
    process_copy[p].reader = reader;
    process_copy[p].pieces = pieces + 1u;
}

/* Maps the spare frame, which is complete. Requires: as process_copy_stage, which returned COPY_MAP. */
static uint32_t process_place_spare(uint32_t p, uint64_t vaddr, uint32_t prot)
{
    uint32_t status = process_place(p, vaddr, process_copy[p].spare, prot, PAGEMAP_OWNED);
    if (status == STATUS_OK) {
        process_copy[p].spare = NONE;
    }
    return status;
}

/* The steps but COPY_FILL. Requires: as process_copy_stage, which returned this stage. */
static uint32_t process_copy_other(uint32_t p, uint64_t vaddr, uint32_t prot, uint32_t stage)
{
    uint32_t status = STATUS_RESTART;
    if (stage == COPY_MAPPED) {
        status = ERR_ALREADY_MAPPED;
    } else if (stage == COPY_STALE) {
        process_drop_spare(p);
    } else if (stage == COPY_MAP) {
        status = process_place_spare(p, vaddr, prot);
    } else {
        status = process_copy_prepare(p, vaddr, 0u);
    }
    return status;
}

uint32_t process_give_copy(uint32_t p, uint64_t vaddr, uint32_t prot, uint32_t source, uint32_t words)
{
    uint32_t status = STATUS_RESTART;
    uint32_t missing = pagemap_missing(p, vaddr);
    if (missing != 0u) {
        status = process_copy_prepare(p, vaddr, missing);
        return status;
    }
    uint32_t stage = process_copy_stage(p, vaddr, source, NONE, words);
    if (stage == COPY_FILL) {
        process_fill_piece(p, source, NONE, words);
    } else {
        status = process_copy_other(p, vaddr, prot, stage);
    }
    return status;
}

/* Fills the next piece of child's spare frame from the page of the current thread's process p, if that is still frame source and
 * no other CPU uses p's pages.
 * Requires: as process_copy_stage, which returned COPY_FILL. */
static void process_fill_from_page(uint32_t child, uint32_t p, uint64_t from, uint32_t source)
{
    uint32_t current = thread_current();
    uint32_t mine = process_use_pages(p);
    if (mine == 0u) {
        return;
    }
    uint32_t frame = pagemap_frame(p, from, PROT_READ);
    if (frame == source) {
        process_fill_piece(child, source, current, FRAME_WORDS);
    }
    process_leave_pages(p);
}

uint32_t process_copy_step(uint32_t child, uint64_t to, uint32_t p, uint64_t from, uint32_t prot)
{
    uint32_t status = STATUS_RESTART;
    uint32_t current = thread_current();
    uint32_t source = pagemap_frame(p, from, PROT_READ);
    if (source == NONE) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t missing = pagemap_missing(child, to);
    if (missing != 0u) {
        status = process_copy_prepare(child, to, missing);
        return status;
    }
    uint32_t stage = process_copy_stage(child, to, source, current, FRAME_WORDS);
    if (stage == COPY_FILL) {
        process_fill_from_page(child, p, from, source);
    } else {
        status = process_copy_other(child, to, prot, stage);
    }
    return status;
}

uint32_t process_copy_begin(uint32_t child)
{
    uint32_t status = ERR_BAD_STATE;
    process_lock(child);
    uint32_t state = process_state_locked(child);
    uint32_t building = process_being_built(child);
    if (building == 1u) {
        status = STATUS_RESTART;
    } else if (state == PROCESS_LOADING) {
        uint32_t undone = process_being_undone(child);
        if (undone == 0u) {
            process_build_begin(child);
            status = STATUS_OK;
        }
    }
    process_unlock(child);
    return status;
}

/* This CPU builds child until the page is done or an interrupt waits: if it let others in between two steps, two threads that
 * copy different pages at once would take turns in freeing what the other has begun. */
uint32_t process_copy_page(uint32_t child, uint64_t to, uint64_t from, uint32_t prot)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t status = STATUS_RESTART;
    uint32_t mine = 0u;
    uint32_t pending = 0u;
    while (status == STATUS_RESTART && pending == 0u) {
        if (mine == 0u) {
            status = process_copy_begin(child);
            if (status == STATUS_OK) {
                mine = 1u;
                status = STATUS_RESTART;
            }
            pending = arch_interrupt_pending(); /* so that the first step and what comes before it are two regions */
        }
        if (mine == 1u && pending == 0u) {
            status = process_copy_step(child, to, p, from, prot);
            pending = arch_interrupt_pending(); /* behind the last step, too, so that it and the end are two regions */
        }
    }
    if (mine == 1u) {
        if (status != STATUS_OK && status != STATUS_RESTART) {
            process_forget_pieces(child);
        }
        process_build_end(child, PROCESS_LOADING);
    }
    return status;
}
