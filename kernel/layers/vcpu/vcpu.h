/* Virtual processors: one per virtual machine. The monitor, a user process, keeps the guest's registers in the vcpu
 * page (abi.h) and runs the guest by a call that returns when something must be emulated, which the monitor does. A
 * physical interrupt always makes the guest exit.
 *
 * A vcpu belongs to the CPU that runs it first, which holds its translations and vector state. Only that CPU uses the
 * state of a run, with interrupts off, so no lock is needed.
 *
 * Lock: LOCK_VCPU_BASE + vm guards whether vm has a vcpu, its page, and its CPU. */
#ifndef ASHLAR_VCPU_H
#define ASHLAR_VCPU_H

#include <stdint.h>

#include "config.h"

/* All functions require vm < NUM_VM, no lock held. */

/* Makes the vcpu of machine vm, in reset state, and its page, charged to process p. Returns STATUS_OK; ERR_BAD_STATE
 * (it exists); STATUS_RESTART (a step of it is made, by this or another CPU: call again); ERR_NOT_SUPPORTED (this processor
 * cannot run guests); ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t vcpu_create(uint32_t vm, uint32_t p);

/* The frame of the vcpu page, or NONE if there is no vcpu. */
uint32_t vcpu_page(uint32_t vm);

/* Runs the guest with the nested map npt_root(vm) until it exits for the monitor. deadline: ns since boot
 * (NOTIFY_FOREVER: never). notification: exit when one of its bits is set, or NONE. Requires: the current thread's
 * process owns vm and waits on notification. Returns STATUS_OK (vcpu_reason(vm) is the reason and the page holds the
 * guest's state); STATUS_RESTART (an interrupt is pending; the same call continues the run); ERR_BAD_STATE (there is
 * no vcpu or no nested map, or the vcpu belongs to another CPU). */
uint32_t vcpu_run(uint32_t vm, uint64_t deadline, uint32_t notification);

/* VCPU_EXIT_* of the last run that returned STATUS_OK. */
uint32_t vcpu_reason(uint32_t vm);

/* Destroys the vcpu and frees its page, if there is one. Requires: no thread is in vcpu_run(vm), or will be. */
void vcpu_destroy(uint32_t vm);

/* Invariant walk (debug builds): 0, or the number of the broken invariant. Requires that nothing else runs. */
uint32_t vcpu_check(void);

#endif
