/* The guest's memory as the monitor sees it: one stretch from guest-physical 0, mapped at GUEST_BASE. */
#ifndef VMM_GUEST_H
#define VMM_GUEST_H

#include <stdint.h>

#ifndef GUEST_BASE /* a test on the host has it elsewhere */
#define GUEST_BASE 0x100000000ul
#endif

extern uint64_t guest_size; /* bytes, a multiple of 4096 */

/* The monitor's pointer to `bytes` of guest memory, or null if they are not all there. */
static inline void *guest_pointer(uint64_t address, uint64_t bytes)
{
    return address > guest_size || bytes > guest_size - address ? 0 : (void *)(GUEST_BASE + address);
}

/* `vcpu`: the state of the virtual CPU whose address this is. The others may be changing the tables meanwhile.
 * Translates a linear address by the guest's page tables (4 levels; or identity while paging is off). Checks presence
 * only, not permissions: the instruction at hand has already got past them. Returns 1 and the guest-physical address,
 * or 0 if nothing is mapped or the guest's mode is not one Linux uses on x86-64. */
uint32_t guest_translate(volatile const uint64_t *vcpu, uint64_t linear, uint64_t *physical);

/* May the guest, at its present privilege level, read or write the bytes at `linear`? Returns 1, or 0 with the address and
 * error code of the page fault. For instructions that exit before the processor has checked their operands. */
uint32_t guest_may_access(volatile const uint64_t *vcpu, uint64_t linear, uint64_t bytes, uint32_t write,
                          uint64_t *address, uint64_t *error_code);

/* Copies from or to linear addresses, page by page. Returns the bytes copied: fewer if a page is missing. */
uint64_t guest_read_linear(volatile const uint64_t *vcpu, uint64_t linear, void *to, uint64_t bytes);
uint64_t guest_write_linear(volatile const uint64_t *vcpu, uint64_t linear, const void *from, uint64_t bytes);

#endif
