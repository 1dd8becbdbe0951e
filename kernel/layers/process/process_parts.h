/* Private to the process layer. */
#ifndef ASHLAR_PROCESS_PARTS_H
#define ASHLAR_PROCESS_PARTS_H

#include <stdint.h>

/* ---- process_create.c ---- */
void process_create_init(void);

/* A CPU *builds* p from process_build_begin to process_build_end: it alone uses what p is to start with, without p's lock,
 * for one step, or the steps of one page, in which it takes no interrupt. */

/* 1 if a CPU builds p. Requires: p's lock held. */
uint32_t process_being_built(uint32_t p);

/* Requires: p's lock held, no CPU builds p. Ensures: this CPU does. */
void process_build_begin(uint32_t p);

/* Requires: p's lock held, this CPU builds p. Ensures: it does no more. Returns the cause of the end that was asked for
 * meanwhile, or NONE. */
uint32_t process_build_finish(uint32_t p);

/* Asks for p's end, by the CPU that builds it. Returns STATUS_OK; STATUS_RESTART (it undoes p's creation: ask again). Requires:
 * p's lock held, a CPU builds p. */
uint32_t process_request_end(uint32_t p, uint32_t cause);

/* 1 if p's creation has failed and is being undone. Requires: this CPU builds p, or p's lock held and none does. */
uint32_t process_being_undone(uint32_t p);

/* 1 if p has all that it starts with. Requires: p LOADING; this CPU builds p, or p's lock held and none does. */
uint32_t process_created(uint32_t p);

/* Makes stages of p's creation after the first message page and before its segments, as many as one step has. Requires: this CPU
 * builds p, whose next stage is one of them. */
void process_begin_items(uint32_t p);

/* One of them: a thread but the first has no message page yet; an endpoint or a notification of p opens. Requires: this CPU
 * builds p, STAGE_THREADS <= stage < STAGE_LOADING. */
void process_begin_item(uint32_t p, uint32_t stage);

/* Stops undoing: p's teardown frees everything. Requires: p's lock held. */
void process_create_forget(uint32_t p);

/* ---- process_load.c: segments ---- */
void process_load_init(void);

/* Requires: this CPU builds p. Ensures: p's loading begins again at its first page. */
void process_load_reset(uint32_t p);

/* 1 if every page of p's segments is loaded. Requires: as process_created. */
uint32_t process_load_done(uint32_t p);

/* One step of loading: makes a table, clears a frame, or maps a page. Requires: this CPU builds p, p LOADING, not
 * done. Returns STATUS_OK; STATUS_RESTART (call again); ERR_QUOTA; ERR_NO_MEMORY; ERR_ALREADY_MAPPED (segments
 * overlap). */
uint32_t process_load_step(uint32_t p);

/* ---- process_memory.c ---- */
void process_memory_init(void);

/* Begins to use p's pages: no other CPU maps or unmaps one of them, nor uses one, before process_leave_pages. Returns 1; 0:
 * another CPU uses them. Requires: no lock of this layer held. */
uint32_t process_use_pages(uint32_t p);
void process_leave_pages(uint32_t p);

/* Makes one of the tables that a mapping at vaddr lacks, if p's quota holds so many frames. Containers share out no more
 * frames than there are, so what is refused is refused before the first table, unless another thread of p has used the quota
 * meanwhile. Returns STATUS_RESTART; ERR_QUOTA; ERR_NO_MEMORY. Requires: no lock held. */
uint32_t process_add_table(uint32_t p, uint64_t vaddr, uint32_t frames);

/* Maps the page, which has all tables. Returns STATUS_OK; STATUS_RESTART (another CPU uses p's pages: call again);
 * ERR_ALREADY_MAPPED (another thread was first). */
uint32_t process_place(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);

/* Maps a fresh cleared frame of p at the page, which has all tables. Returns as process_place; ERR_QUOTA; ERR_NO_MEMORY.
 * Requires: no lock held. */
uint32_t process_place_new(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Maps a fresh cleared frame of p at vaddr. Requires: no lock held. Returns STATUS_OK; STATUS_RESTART (it made a table
 * instead, or another CPU uses p's pages: call again); ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t process_give_page(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Maps a frame that p does not own; otherwise as process_give_page. */
uint32_t process_show_page(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);

/* ---- process_copy.c ---- */
void process_copy_init(void);

/* One step of mapping a page with the first `words` words of frame `source` in it; NONE and 0: a cleared page. Returns as
 * process_give_page. Requires: this CPU builds p, p LOADING; the source is never freed. */
uint32_t process_give_copy(uint32_t p, uint64_t vaddr, uint32_t prot, uint32_t source, uint32_t words);

/* Makes one of the tables that p's map lacks for its next copied page, or the frame of that page if it lacks none: as
 * process_add_table. Requires: as process_give_copy. */
uint32_t process_copy_prepare(uint32_t p, uint64_t vaddr, uint32_t missing);

/* Of copying a page of the current thread's process p. process_copy_begin begins to build child. Returns STATUS_OK; STATUS_RESTART
 * (another CPU builds it); ERR_BAD_STATE. Requires: no lock held. process_copy_step makes one step. Returns as process_give_page;
 * ERR_BAD_ADDRESS. Requires: this CPU builds child, which is LOADING. */
uint32_t process_copy_begin(uint32_t child);
uint32_t process_copy_step(uint32_t child, uint64_t to, uint32_t p, uint64_t from, uint32_t prot);

/* A frame that a copy has cleared and not mapped: whether there is one, and freeing it. Requires: this CPU builds p, or is
 * that of its last thread; of the first, else p's lock held and no CPU builds p. */
uint32_t process_has_spare(uint32_t p);
void process_drop_spare(uint32_t p);

/* No copy goes on with what is filled of that frame. Requires: this CPU builds p. */
void process_forget_pieces(uint32_t p);

/* ---- process_thread.c: planned starts and requests to CPUs ---- */
void process_thread_init(void);

/* Requires: LOCK_PROCESS_BASE + the thread's process held; t has ended or never ran. Ensures: t's CPU starts it with
 * these registers after process_ask. */
void process_plan_start(uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument);

/* Requires: start-up. */
void process_unmap_init(void);

/* Asks a CPU, possibly this one, to serve process p at an interrupt: to start planned threads, and if p is dying, to cancel
 * its threads, and to ask the next CPU of p. Requires: no lock held. */
void process_ask(uint32_t p, uint32_t cpu);

/* Asks the first of p's CPUs, or the one after `cpu`. Requires: no lock held. */
void process_ask_first(uint32_t p);
void process_ask_next(uint32_t p, uint32_t cpu);

/* ---- process.c ---- */
void process_lock(uint32_t p);
void process_unlock(uint32_t p);
uint32_t process_state_locked(uint32_t p); /* requires: p's lock held */

/* Requires: p's lock held. Ensures: p is in this state and its teardown stage is 0. */
void process_set_state(uint32_t p, uint32_t state);

/* Requires: this CPU builds p, no lock held; state LOADING, or EMPTY if p was EMPTY or was being undone. Ensures: it builds p
 * no more; p is in this state, or ends, if that was asked for meanwhile. */
void process_build_end(uint32_t p, uint32_t state);

uint32_t process_quota(uint32_t p);
uint32_t process_first_thread(uint32_t p);
uint32_t process_num_threads(uint32_t p);

/* 1 from the start of t until it ends. Requires: the process's lock held. */
uint32_t process_thread_alive(uint32_t t);

/* Requires: p's lock held; t, one of p's threads, is not alive. Ensures: t is alive and its start is planned. */
void process_begin_thread(uint32_t p, uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument);

#endif
