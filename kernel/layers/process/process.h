/* Processes: what each may use (grants), their life cycle from creation until every resource is freed, and the
 * operations on their address spaces. Process p is entry p of the boot table, which also fixes its threads and
 * grants. It is EMPTY, is created and loaded (LOADING), started (RUNNING), ends (DYING) and is EMPTY again; its
 * parent may then create it anew.
 *
 * Only a thread's own CPU starts, cancels and ends it: other CPUs leave a request and send VECTOR_PROCESS. A
 * CPU serves requests only when it is in no other kernel operation, so each of its threads is then blocked, ready,
 * ended, or current, never in transition.
 *
 * Locks: LOCK_PROCESS_BASE + p guards p's state and counters, and which CPU makes the next step of its creation.
 * LOCK_PROCESS_SPACE_BASE + p guards whether a CPU uses p's pages: it does while it maps one, and while it does something with
 * one that it has found, whose frame stays p's. LOCK_PROCESS_REQUEST_BASE + cpu guards the requests to that CPU. No other lock
 * is taken while one of these is held. Grants and definitions are written by start-up and constant afterwards. */
#ifndef ASHLAR_PROCESS_H
#define ASHLAR_PROCESS_H

#include <stdint.h>

#include "config.h"

#define NUM_SEGMENT 512u

/* ---- start-up (one CPU runs, before any process exists) ---- */

/* Ensures: no process is defined, no grant given, no request left. */
void process_init(void);

/* Requires: p < NUM_PROCESS; parent < NUM_PROCESS or NONE (its container is the root); threads first_thread ..
 * first_thread + num_threads - 1 are kernel thread ids defined for p, num_threads >= 1; fault_endpoint or NONE.
 * Ensures: p is EMPTY. entry, stack, argument: registers of its first thread. */
void process_define(uint32_t p, uint32_t parent, uint32_t quota, uint32_t first_thread, uint32_t num_threads,
                    uint32_t fault_endpoint);
void process_define_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument);

/* Word i of p's name, of which the first byte is the lowest; a byte 0 ends it. */
#define PROCESS_NAME_WORDS 4u
void process_define_name(uint32_t p, uint32_t i, uint64_t word);
uint64_t process_name_word(uint32_t p, uint32_t i);

/* Adds a segment of `pages` pages at vaddr. The first image_words 64-bit words come from the image frames first_frame
 * on. copy 1: they are copied into frames of the process, the rest is zero; copy 0: the image's own frames are mapped
 * read-only. The segments of a process must be added consecutively. Returns STATUS_OK; ERR_NO_MEMORY (more than
 * NUM_SEGMENT); ERR_BAD_ADDRESS (no page, or outside user space); ERR_BAD_ARGUMENT (protection, or copy 0 with
 * PROT_WRITE). */
uint32_t process_define_segment(uint32_t p, uint64_t vaddr, uint64_t pages, uint32_t first_frame, uint64_t image_words,
                                uint32_t prot, uint32_t copy);

/* Requires: p < NUM_PROCESS, slot < NUM_GRANT; endpoints and notifications are defined. Returns STATUS_OK;
 * ERR_BAD_ARGUMENT (the object is out of range; or p would receive from another process's endpoint or wait for
 * another process's notification; or the badge names no notification where it must). That the holder of a
 * GRANT_PROCESS is the parent is checked at its use. */
uint32_t process_set_grant(uint32_t p, uint32_t slot, uint32_t kind, uint32_t object, uint32_t rights, uint64_t badge);

/* When p ends, these bits of notification are signalled (NONE: none). process_set_grant of a GRANT_PROCESS calls it
 * with bit `slot`. */
void process_set_death(uint32_t p, uint32_t notification, uint64_t bits);

/* ---- grants ---- */

/* The number of the grant in p's slot, for the functions below: 64 bits wide, because they index with it. Requires:
 * p < NUM_PROCESS, slot < NUM_GRANT. */
uint64_t process_grant(uint32_t p, uint64_t slot);
/* 1 if the grant is of this kind with all of these rights, else 0. */
uint32_t process_grant_allows(uint64_t g, uint32_t kind, uint32_t rights);
uint32_t process_grant_kind(uint64_t g); /* GRANT_NONE for an empty slot */
uint32_t process_grant_object(uint64_t g);
uint64_t process_grant_badge(uint64_t g);

/* ---- life ---- */

/* One bounded step of creation: the first makes container and page map; then come the first message page, threads,
 * endpoints and notifications of the new life, a few a step, and the pages of the segments. No step clears more than
 * one frame. Requires: p defined, no lock held. Returns STATUS_RESTART (more to do); STATUS_OK (loaded); ERR_BAD_STATE
 * (p is not EMPTY or LOADING, or its parent is dying); ERR_QUOTA, ERR_NO_MEMORY: up to the message page everything is
 * undone; later p stays LOADING and the caller may try again or kill it. */
uint32_t process_create(uint32_t p);

/* Such steps, until there is nothing more to do or an interrupt waits: STATUS_RESTART then. */
uint32_t process_create_steps(uint32_t p);

/* Starts p's first thread. entry 0: the boot table's entry, stack and argument.
 * Returns STATUS_OK; ERR_BAD_STATE (p is not LOADING with everything loaded); ERR_BAD_ADDRESS (entry or stack is not a
 * user address). */
uint32_t process_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument);

/* Starts thread number index (>= 1) of the current process. Returns STATUS_OK; ERR_BAD_ARGUMENT (no such thread);
 * ERR_BAD_STATE (it runs already, or the process is ending); ERR_BAD_ADDRESS; STATUS_RESTART (it has made the message
 * page or one of its tables: call again); ERR_QUOTA, ERR_NO_MEMORY. */
uint32_t process_start_thread(uint32_t index, uint64_t entry, uint64_t stack, uint64_t argument);

/* Begins the end of p: each of its threads is cancelled or interrupted and ends when it would leave the kernel.
 * Returns STATUS_OK, also when p is ending already; STATUS_RESTART (another CPU undoes its creation: call again);
 * ERR_BAD_STATE (p is EMPTY). */
uint32_t process_kill(uint32_t p, uint32_t cause);

/* Ends the current process with this cause (END_*). The calling thread ends when it leaves the kernel. */
void process_exit(uint32_t cause);

/* No lock held: */
uint32_t process_state(uint32_t p);     /* PROCESS_* */
uint32_t process_end_cause(uint32_t p); /* END_*, of the last life */
uint32_t process_parent(uint32_t p);    /* NONE: start-up made it, or p is not defined */
uint32_t process_dying(uint32_t p);     /* 1 if p is ending, else 0; p may be NONE (idle) */
uint32_t process_fault_endpoint(uint32_t p);

/* Takes the current thread, which is ending, from what it has to do with others: who waits for its reply gets ERR_PEER_DEAD,
 * and it has no deadline any more. */
void process_leave_others(void);

/* Ends the current thread. Requires: process_leave_others was called. Returns 1 if it is the last thread of the process: the
 * caller must then tear the process down; otherwise does not return. */
uint32_t process_end_thread(void);

/* ---- teardown, by the last thread of the dying process p ---- */
uint32_t process_stage(uint32_t p); /* progress, kept for the caller; 0 when dying begins */
void process_set_stage(uint32_t p, uint32_t stage);

/* Blocks the current thread until child is EMPTY. */
void process_wait_empty(uint32_t child);

/* Merges p's container into its parent's. Requires: the current thread is p's last one, all frames freed, all children
 * EMPTY. */
void process_return_quota(uint32_t p);

/* Makes p EMPTY and signals the parent. Requires: process_return_quota(p) was called. The caller must call
 * sched_exit_current() next. */
void process_finish(uint32_t p);

/* Serves requests to this CPU, one bounded step; as long as there was one, this CPU interrupts itself. To be called on
 * VECTOR_PROCESS. */
void process_serve_requests(void);

/* ---- address spaces; each is one bounded piece; no lock held ----
 * A page may need tables. A function that maps makes at most one, and then returns STATUS_RESTART: the caller takes
 * interrupts and calls again. What it refuses it refuses before it makes a table; only if another thread of the
 * process uses the quota in between, or process_accept_page finds nothing offered, empty tables stay. All that use pages
 * return STATUS_RESTART while another CPU uses some of the same process. */

/* 1 if vaddr is a page address in user space and not of a message page; 1 if prot is a valid protection; else 0. */
uint32_t process_page_valid(uint64_t vaddr);
uint32_t process_prot_valid(uint64_t prot);

/* Maps a fresh cleared frame at vaddr of p. Returns STATUS_OK; STATUS_RESTART; ERR_BAD_ADDRESS (process_page_valid);
 * ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t process_map_page(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Maps a frame that p does not own (device register window, vcpu page): kind PAGEMAP_DEVICE or PAGEMAP_IMAGE. Returns
 * STATUS_OK; STATUS_RESTART; ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t process_map_foreign(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);

/* One step of unmapping the page at vaddr and freeing its frame, for the current thread of p. Returns STATUS_RESTART (more
 * to do); STATUS_OK: no CPU can reach the page; ERR_BAD_ADDRESS (nothing is mapped there, or process_page_valid);
 * ERR_BAD_STATE (the page is pinned: a guest or a DMA device may use it until the process ends). */
uint32_t process_unmap_page(uint32_t p, uint64_t vaddr);

/* Frees the frame of a page that thread number index of p, which has ended, was unmapping. Returns 0 if p has no such
 * thread, else 1. Requires: no CPU uses p's map any more. */
uint32_t process_unmap_forget(uint32_t p, uint32_t index);

/* Pins p's own page at vaddr, which must be mapped at least with prot: it stays mapped until the process ends.
 * Returns its frame; NONE if there is no such page; PROCESS_PAGES_USED: another CPU uses p's pages, call again. */
#define PROCESS_PAGES_USED 0xfffffffeu
uint32_t process_pin_page(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Maps a fresh page at `to` of child, which must be LOADING, with a copy of the current process's page at `from`.
 * Returns STATUS_OK; STATUS_RESTART (an interrupt waits: call again); ERR_BAD_STATE; ERR_BAD_ADDRESS (`from` is not an own
 * readable page); ERR_ALREADY_MAPPED; ERR_QUOTA (of the child); ERR_NO_MEMORY. */
uint32_t process_copy_page(uint32_t child, uint64_t to, uint64_t from, uint32_t prot);

/* Offers p's own page at vaddr, which must be mapped at least with prot, in share s. Returns STATUS_OK; STATUS_RESTART;
 * ERR_BAD_ADDRESS; or share_offer's error. */
uint32_t process_offer_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot);

/* Maps the page offered in s at vaddr. Returns STATUS_OK; STATUS_RESTART; ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY;
 * or share_accept's error. */
uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot);

uint32_t process_check(void);

#endif
