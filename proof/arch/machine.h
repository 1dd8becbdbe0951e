/* Contracts of arch: what each primitive does, as the proofs and the validation of machine code know it.
 *
 * A contract is a function of the C subset over arch's own objects and over the actions below. Each action is one
 * instruction, or one access to a device's register, that must be found in the primitive's machine code: the same one, with
 * equal operands, in the same order (`ashlar prove --binary`). Nothing here is compiled into the kernel. That the actions of a
 * contract are what the processor's and the devices' manuals ask for is for the reader to judge. */
#ifndef ASHLAR_PROOF_ARCH_MACHINE_H
#define ASHLAR_PROOF_ARCH_MACHINE_H

#include <stdint.h>

/* ---- ports: the low 16 bits of `port`, the low 8 or 16 bits of `value` ---- */
uint32_t machine_in8(uint32_t port);
uint32_t machine_in16(uint32_t port);
uint32_t machine_in32(uint32_t port);
void machine_out8(uint32_t port, uint32_t value);
void machine_out16(uint32_t port, uint32_t value);
void machine_out32(uint32_t port, uint32_t value);

/* ---- registers and memory of devices: one access of this width at this address ---- */
uint32_t machine_read32(uint64_t address);
uint64_t machine_read64(uint64_t address);
void machine_write32(uint64_t address, uint32_t value);
void machine_write64(uint64_t address, uint64_t value);

/* ---- registers of the processor ---- */
uint64_t machine_read_msr(uint32_t msr);
void machine_write_msr(uint32_t msr, uint64_t value); /* requires: not the base of FS or GS */
uint64_t machine_read_cr2(void);
uint64_t machine_read_cr3(void);
void machine_write_cr3(uint64_t value);
uint64_t machine_read_tsc(void);

/* ---- order of memory, caches, translations ---- */
void machine_fence(void); /* mfence */
void machine_flush_line(uint64_t address);
void machine_invalidate_page(uint64_t address);

/* ---- interrupts: between the two, the stub of one that comes may set percpu.vector ---- */
void machine_interrupts_on(void); /* takes effect after the next instruction */
void machine_interrupts_off(void);
void machine_halt(void);

/* ---- addresses in the image ---- */
uint64_t machine_kernel_map(void);   /* physical address of the kernel's root table */
uint64_t machine_thread_start(void); /* of arch_thread_start */

/* Where the kernel sees physical memory. */
#define DIRECT_MAP 0xffff800000000000ul

#endif
