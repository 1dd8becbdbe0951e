/* Vector state, and what guests need of it. */
#ifndef ASHLAR_X86_64_FPU_H
#define ASHLAR_X86_64_FPU_H

#include <stdint.h>

#define FPU_AREA_BYTES 1024u /* x87, SSE and AVX state as XSAVE (or FXSAVE) lays it out */

struct fpu_area {
    _Alignas(64) uint8_t byte[FPU_AREA_BYTES];
};

extern uint32_t fpu_xsave;     /* 1: XSAVE with fpu_components, 0: FXSAVE */
extern uint64_t fpu_components; /* what XCR0 holds while the kernel or user code runs */

/* The unit gets guest vm's state; CR0.TS is set, so the next use by a thread traps and takes the unit back. Requires: vm
 * runs on no other CPU. */
void fpu_enter_guest(uint32_t vm);
/* The guest's state is the initial one at its next entry. Requires: vm runs nowhere. */
void fpu_reset_guest(uint32_t vm);
/* After a guest: 1 if it changed the set of enabled components (XCR0), else 0. If so the set is ours again and the unit
 * holds the initial state, so that nothing of a component we don't save stays behind. */
uint32_t fpu_repair_components(void);

void fpu_save(struct fpu_area *area);
void fpu_load(const struct fpu_area *area);
void fpu_area_reset(struct fpu_area *area);

#endif
