/* Vector state of guests and threads. */
#ifndef ASHLAR_X86_64_FPU_H
#define ASHLAR_X86_64_FPU_H

#include <stdint.h>

#define FPU_AREA_BYTES 1024u /* x87, SSE and AVX state as XSAVE (or FXSAVE) lays it out */

struct fpu_area {
    _Alignas(64) uint8_t byte[FPU_AREA_BYTES];
};

extern uint32_t fpu_xsave;      /* 1: XSAVE with fpu_components, 0: FXSAVE */
extern uint64_t fpu_components; /* XCR0 while kernel or user code runs */

/* Loads guest vm's state into the unit; CR0.TS is set, so the next use by a thread traps and loads that thread's
 * state. Returns 1; 0 if the unit holds it already. Requires: vm runs on no other CPU. */
uint32_t fpu_enter_guest(uint32_t vm);
/* Makes the guest's state the initial one at its next entry. Requires: vm runs nowhere. */
void fpu_reset_guest(uint32_t vm);
/* To be called after a guest exit: 1 if the guest has changed the set of enabled components (XCR0), else 0. If so,
 * restores the kernel's set and puts the unit into its initial state, so that no component that is not saved keeps
 * values. */
uint32_t fpu_repair_components(void);

void fpu_save(struct fpu_area *area);
void fpu_load(const struct fpu_area *area);
void fpu_area_reset(struct fpu_area *area);

#endif
