/* Processes: what each may use (grants), their life from creation to the return of every resource, and the operations
 * on their address spaces. Process p is entry p of the boot table; so are its threads and grants, for ever. It is EMPTY,
 * is created and loaded (LOADING), started (RUNNING), ends (DYING) and is EMPTY again; its parent may then create it anew.
 *
 * A thread is started, cancelled and ended by its own CPU: other CPUs leave a request and send VECTOR_RESCHEDULE. A CPU
 * serves requests only when it is in no other kernel operation, so it finds each of its threads blocked, ready, ended,
 * or current, never half-way.
 *
 * Locks: LOCK_PROCESS_BASE + p guards p's state, counters and loading. LOCK_SPACE_BASE + p makes one operation on p's
 * address space a unit: a frame found there stays p's until the operation is over. LOCK_REQUEST_BASE + cpu guards the
 * requests to that CPU. Grants and definitions are written by start-up and constant afterwards. */
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

/* Adds a segment: pages pages at vaddr. The first image_words 64-bit words come from the image frames first_frame on.
 * copy 1: into frames of the process, the rest zero; copy 0: the image's own frames, read-only, all of them.
 * Segments of one process are added one after the other. Returns STATUS_OK; ERR_NO_MEMORY (more than NUM_SEGMENT);
 * ERR_BAD_ADDRESS (no page, or outside user space); ERR_BAD_ARGUMENT (protection, or copy 0 with PROT_WRITE). */
uint32_t process_define_segment(uint32_t p, uint64_t vaddr, uint64_t pages, uint32_t first_frame, uint64_t image_words,
                                uint32_t prot, uint32_t copy);

/* Requires: p < NUM_PROCESS, slot < NUM_GRANT; endpoints and notifications are defined. Returns STATUS_OK;
 * ERR_BAD_ARGUMENT (the object is out of range; or p is to receive from another process's endpoint or to wait for another
 * process's notification; or the badge names no notification where it must). That a GRANT_PROCESS is held by the parent
 * is checked when it is used. */
uint32_t process_set_grant(uint32_t p, uint32_t slot, uint32_t kind, uint32_t object, uint32_t rights, uint64_t badge);

/* p's end signals these bits of notification (NONE: nothing); process_set_grant of GRANT_PROCESS calls it: bit `slot`. */
void process_set_death(uint32_t p, uint32_t notification, uint64_t bits);

/* ---- grants ---- */
uint32_t process_grant_kind(uint32_t p, uint32_t slot); /* GRANT_NONE for an empty slot */
uint32_t process_grant_object(uint32_t p, uint32_t slot);
uint32_t process_grant_rights(uint32_t p, uint32_t slot);
uint64_t process_grant_badge(uint32_t p, uint32_t slot);

/* ---- life ---- */

/* One bounded piece of creation: the first makes container, page map and first message page, opens the endpoints; each
 * further one loads one page of the segments. Requires: p defined, no lock held.
 * Returns STATUS_RESTART (one more piece to do); STATUS_OK (loaded); ERR_BAD_STATE (p is not EMPTY or LOADING, or its
 * parent is dying); ERR_QUOTA, ERR_NO_MEMORY: before any page of the segments is loaded nothing is changed in the end; later p
 * stays LOADING and the caller may try again or kill it. */
uint32_t process_create(uint32_t p);

/* Starts p's first thread. entry 0: the boot table's entry, stack and argument.
 * Returns STATUS_OK; ERR_BAD_STATE (p is not LOADING with everything loaded); ERR_BAD_ADDRESS (entry or stack is not a
 * user address). */
uint32_t process_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument);

/* Starts thread number index (>= 1) of the current process. Returns STATUS_OK; ERR_BAD_ARGUMENT (no such thread);
 * ERR_BAD_STATE (it runs already, or the process is ending); ERR_BAD_ADDRESS; ERR_QUOTA, ERR_NO_MEMORY. */
uint32_t process_start_thread(uint32_t index, uint64_t entry, uint64_t stack, uint64_t argument);

/* Begins the end of p: every thread of it is cancelled or interrupted and ends when it would leave the kernel.
 * Returns STATUS_OK, also when p is ending already; ERR_BAD_STATE (p is EMPTY). */
uint32_t process_kill(uint32_t p, uint32_t cause);

/* The current process ends with this cause (END_*). The calling thread ends when it leaves the kernel. */
void process_exit(uint32_t cause);

/* No lock held: */
uint32_t process_state(uint32_t p);     /* PROCESS_* */
uint32_t process_end_cause(uint32_t p); /* END_*, of the last life */
uint32_t process_parent(uint32_t p);    /* NONE: start-up made it, or p is not defined */
uint32_t process_dying(uint32_t p);     /* 1 if p is ending, else 0; p may be NONE (idle) */
uint32_t process_fault_endpoint(uint32_t p);

/* The current thread is in its process for the last time (the process is dying, or the thread asked to exit).
 * Returns 1 if it is the last one: the caller must tear the process down with it; otherwise does not return. */
uint32_t process_end_thread(void);

/* ---- teardown, by the last thread of the dying process p ---- */
uint32_t process_stage(uint32_t p); /* progress, kept for the caller; 0 when dying begins */
void process_set_stage(uint32_t p, uint32_t stage);

/* Blocks the current thread until child is EMPTY. */
void process_wait_empty(uint32_t child);

/* Gives the container back to the parent's, makes p EMPTY and signals the parent. Requires: all frames returned, all
 * children EMPTY. The caller must call sched_exit_current() next. */
void process_finish(uint32_t p);

/* Serves requests left for this CPU, one bounded piece; if there is more, this CPU interrupts itself with VECTOR_RESCHEDULE.
 * Requires: called from an interrupt, or on the way out of the kernel. */
void process_serve_requests(void);

/* ---- address spaces; each is one bounded piece; no lock held ---- */

/* 1 if address is a page address in user space, but no message page; 1 if prot is a protection that may be given; else 0. */
uint32_t process_page_valid(uint64_t vaddr);
uint32_t process_prot_valid(uint64_t prot);

/* Maps a fresh cleared frame at vaddr of p. Returns STATUS_OK; ERR_BAD_ADDRESS (process_page_valid); ERR_ALREADY_MAPPED;
 * ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t process_map_page(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Maps a frame that p does not own (device register window, vcpu page): kind PAGEMAP_DEVICE or PAGEMAP_IMAGE. */
uint32_t process_map_foreign(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);

/* Unmaps the page at vaddr; when it returns no CPU can reach it, and its frame is returned. Returns STATUS_OK;
 * ERR_BAD_ADDRESS (not mapped, or a message page); ERR_BAD_STATE (the page was given to a guest or to a DMA device, which
 * may use it until the process ends). */
uint32_t process_unmap_page(uint32_t p, uint64_t vaddr);

/* The frame of p's own page at vaddr, which must be mapped at least with prot; from now on it stays mapped until the
 * process ends. NONE if there is none. */
uint32_t process_pin_page(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Gives child, which must be LOADING, a fresh page at to holding a copy of the current process's page at from. Returns
 * STATUS_OK; ERR_BAD_STATE; ERR_BAD_ADDRESS (from is not an own readable page); ERR_ALREADY_MAPPED; ERR_QUOTA (of the
 * child); ERR_NO_MEMORY. */
uint32_t process_copy_page(uint32_t child, uint64_t to, uint64_t from, uint32_t prot);

/* Offers p's own page at vaddr in share s. Returns STATUS_OK; ERR_BAD_ADDRESS; or share_offer's error. */
uint32_t process_offer_page(uint32_t p, uint32_t s, uint64_t vaddr);

/* Maps the page offered in s at vaddr. Returns STATUS_OK; ERR_ALREADY_MAPPED; ERR_QUOTA; ERR_NO_MEMORY; or share_accept's
 * error. */
uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot);

uint32_t process_check(void);

#endif
