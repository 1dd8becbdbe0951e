/* Nested page maps: from guest-physical addresses to frames. One per virtual machine, 4 levels of 512 entries, 4 KiB
 * pages. Tables are charged to the monitor's process. A leaf names a frame that the monitor owns and has pinned, so
 * whatever a guest can still reach, even through a stale translation, is its monitor's memory.
 *
 * Lock: LOCK_NPT_BASE + vm guards map vm and its tables. No other lock is taken while it is held: frames are taken and given
 * back before or after, by a CPU that has marked the map meanwhile. */
#ifndef ASHLAR_NPT_H
#define ASHLAR_NPT_H

#include <stdint.h>

#include "config.h"

/* Guest-physical addresses lie below this. */
#define NPT_ADDRESS_END 0x0001000000000000ul

/* All functions require vm < NUM_VM, no lock of this layer or above held. */

/* Makes an empty map whose tables are charged to process p. Returns STATUS_OK; STATUS_RESTART (another CPU makes or frees one:
 * call again); ERR_BAD_STATE (vm has a map); ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t npt_create(uint32_t vm, uint32_t p);

/* Tables that a mapping at gpa lacks; 0 if there is no map, or gpa is not page aligned or not below NPT_ADDRESS_END. */
uint32_t npt_missing(uint32_t vm, uint64_t gpa);

/* Makes one of the tables that a mapping at gpa lacks, which are `missing`, and charges it to p, whose map it is. Returns
 * STATUS_RESTART (go on from npt_missing); ERR_QUOTA; ERR_NO_MEMORY. On an error nothing is changed, unless others have used up
 * meanwhile what was left: then the map keeps some empty tables. Requires: missing > 0, no lock held. */
uint32_t npt_prepare(uint32_t vm, uint64_t gpa, uint32_t p, uint32_t missing);

/* Maps the guest page at gpa to frame. Requires: frame < NUM_FRAME is owned by the map's process and stays so until
 * the map is destroyed. Returns, on errors with nothing changed: STATUS_OK; ERR_BAD_STATE (no map, or a table is missing);
 * ERR_BAD_ADDRESS (gpa is not page aligned or not below NPT_ADDRESS_END); ERR_BAD_ARGUMENT (prot is not PROT_READ with any
 * of PROT_WRITE, PROT_EXEC); ERR_ALREADY_MAPPED. */
uint32_t npt_map(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot);

/* Unmaps the guest page at gpa; the guest's translation is gone at its next entry at the latest. Tables are kept for
 * later pages. Returns STATUS_OK; ERR_BAD_STATE (no map); ERR_BAD_ADDRESS (nothing is mapped there). */
uint32_t npt_unmap(uint32_t vm, uint64_t gpa);

/* The frame mapped at gpa, or NONE. */
uint32_t npt_walk(uint32_t vm, uint64_t gpa);

/* Frees one table of the map at most. Returns 1 if there are more, 0 when the map is gone (or there was none). Requires: the
 * guest runs nowhere and is not entered again. */
uint32_t npt_destroy_step(uint32_t vm);

/* The frame of the map's root, or NONE if there is no map. */
uint32_t npt_root(uint32_t vm);

/* The process that is charged for the map, or NONE. */
uint32_t npt_process(uint32_t vm);

/* Invariant walk (debug builds): 0, or the number of the broken invariant. Requires that nothing else runs. */
uint32_t npt_check(void);

#endif
