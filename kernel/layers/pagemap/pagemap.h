/* Page maps: 4-level tables, one per process, that translate user addresses. The upper half is the kernel's, the
 * same in all of them and never accessible to user programs; nothing here writes it after creation. Invariant: a
 * leaf entry of kind owned names a frame that the process owns; every table is a frame of the process. Tables stay
 * until the map is destroyed, also when they become empty.
 *
 * Lock: LOCK_PAGEMAP_BASE + p guards page map p. All functions require p < NUM_PROCESS. */
#ifndef ASHLAR_PAGEMAP_H
#define ASHLAR_PAGEMAP_H

#include <stdint.h>

#include "config.h"

#define PAGEMAP_OWNED 0u  /* frame of the process */
#define PAGEMAP_IMAGE 1u  /* frame without owner: of the image, or a vcpu page */
#define PAGEMAP_DEVICE 2u /* device registers: not cached */

#define PAGEMAP_NO_TABLE 16u /* beside the status codes of abi.h; no program ever sees it */

/* Requires: start-up, one CPU runs. Ensures: no page map exists. */
void pagemap_init(void);

/* Makes an empty page map; its root is charged to p.
 * Returns STATUS_OK; ERR_BAD_STATE (it exists); ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t pagemap_create(uint32_t p);

/* Tables that a mapping at vaddr lacks, 0 to 3; 0 if p has no page map or vaddr is no user page address. */
uint32_t pagemap_missing(uint32_t p, uint64_t vaddr);

/* Makes at most one of the tables that a mapping at vaddr lacks, the highest, and charges it to p, so that a caller can
 * take interrupts between two of them. Returns STATUS_OK (there is none to make); STATUS_RESTART (it made one: call
 * again); on errors with nothing changed ERR_BAD_STATE (p has no page map); ERR_BAD_ADDRESS (not page aligned or not in
 * user space); ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t pagemap_prepare(uint32_t p, uint64_t vaddr);

/* Maps the page at vaddr to frame with PROT_* prot (reading is always allowed). Takes no frame: pagemap_prepare makes
 * the tables before. Requires: kind PAGEMAP_OWNED: p owns the frame, and it is mapped nowhere else in p. Returns, on
 * errors with nothing changed: STATUS_OK; ERR_BAD_STATE (p has no page map); ERR_BAD_ADDRESS (not page aligned or not
 * in user space); ERR_BAD_ARGUMENT (write and execute together, or an invalid kind); PAGEMAP_NO_TABLE (a table is
 * missing); ERR_ALREADY_MAPPED. */
uint32_t pagemap_map(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);

/* Unmaps the page at vaddr. Returns its entry, 0 if there was none. CPUs may still hold the translation: the caller
 * must call tlb_invalidate before the frame is reused. */
uint64_t pagemap_unmap(uint32_t p, uint64_t vaddr);

/* The entry (ARCH_PTE_*) of the page at vaddr; 0 if there is none, or vaddr is no user page address. */
uint64_t pagemap_walk(uint32_t p, uint64_t vaddr);

/* The frame at vaddr if it is p's own (kind owned) and mapped at least with prot; else NONE. */
uint32_t pagemap_frame(uint32_t p, uint64_t vaddr, uint32_t prot);

/* Marks the page at vaddr, if there is one, with ARCH_PTE_PINNED. */
void pagemap_pin(uint32_t p, uint64_t vaddr);

/* Destroys one part of the page map: a leaf page (p gives up its frame if it is of kind owned) and the tables that are
 * empty then, or stretches without table; at last the root.
 * Requires: no CPU has the map loaded or will load it, no other thread maps in it. Returns 1 if there is more to do,
 * 0 if the map no longer exists. */
uint32_t pagemap_destroy_step(uint32_t p);

/* The frame of the root of p's map; NONE if p has no page map. It stays the root until the map is destroyed. */
uint32_t pagemap_root_of(uint32_t p);

/* Loads a map on this CPU: the one with this root, or the kernel's own without user half. Requires: the map exists
 * and is not destroyed before this CPU has loaded another. */
void pagemap_load(uint32_t root);
void pagemap_load_kernel(void);

uint32_t pagemap_check(void);

#endif
