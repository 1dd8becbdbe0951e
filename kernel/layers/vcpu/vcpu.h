/* Virtual processors: one per virtual machine. The monitor, a user process, keeps the guest's registers in the vcpu page
 * (abi.h) and runs the guest by a call that returns when something must be emulated; what that is, and what to do
 * about it, is the monitor's affair. A physical interrupt always leaves the guest.
 *
 * A vcpu belongs to the CPU that runs it first: its translations and vector state are there. Only that CPU touches
 * the state of a run, with interrupts off, so that needs no lock.
 *
 * Lock: LOCK_VCPU_BASE + vm guards whether vm has a vcpu, its page, and its CPU. */
#ifndef ASHLAR_VCPU_H
#define ASHLAR_VCPU_H

#include <stdint.h>

#include "config.h"

/* All functions require vm < NUM_VM, no lock held. */

/* Makes the vcpu of machine vm, in reset state, and its page, which process p pays. Returns STATUS_OK; ERR_BAD_STATE
 * (it exists); ERR_NOT_SUPPORTED (this processor cannot run guests); ERR_QUOTA; ERR_NO_MEMORY. */
uint32_t vcpu_create(uint32_t vm, uint32_t p);

/* The frame of the vcpu page, or NONE if there is no vcpu. */
uint32_t vcpu_page(uint32_t vm);

/* Runs the guest with the memory of map npt_root(vm) until it must be left. deadline: ns since boot (NOTIFY_FOREVER:
 * never). notification: leave when one of its bits is set, or NONE. Requires: the current thread's process owns vm and
 * waits on notification.
 * Returns STATUS_OK (vcpu_reason(vm) is the reason and the page holds the guest's state); STATUS_RESTART (an interrupt
 * wants to be served; the guest is half-way and the same call continues it); ERR_BAD_STATE (there is no vcpu or no
 * nested map, or the vcpu belongs to another CPU). */
uint32_t vcpu_run(uint32_t vm, uint64_t deadline, uint32_t notification);

/* VCPU_EXIT_* of the last run that returned STATUS_OK. */
uint32_t vcpu_reason(uint32_t vm);

/* Takes the vcpu away and returns its page, if there is one. Requires: no thread is in vcpu_run(vm), or will be. */
void vcpu_destroy(uint32_t vm);

/* Invariant walk (debug builds): 0, or the number of the broken invariant. Requires that nothing else runs. */
uint32_t vcpu_check(void);

#endif
