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
uint32_t machine_read16(uint64_t address);
uint32_t machine_read32(uint64_t address);
uint64_t machine_read64(uint64_t address);
void machine_write32(uint64_t address, uint32_t value);
void machine_write64(uint64_t address, uint64_t value);

/* ---- registers of the processor ---- */
uint64_t machine_read_msr(uint32_t msr);
void machine_write_msr(uint32_t msr, uint64_t value); /* requires: not the base of FS or GS */
uint64_t machine_read_cr0(void);
void machine_write_cr0(uint64_t value);
uint64_t machine_read_cr2(void);
uint64_t machine_read_cr3(void);
void machine_write_cr3(uint64_t value);
uint64_t machine_read_tsc(void);

/* ---- order of memory, caches, translations ---- */
void machine_fence(void); /* mfence */
void machine_flush_line(uint64_t address);
void machine_invalidate_page(uint64_t address);

/* ---- interrupts ---- */
void machine_window(void); /* sti, nop, cli: the stub of one interrupt may run, and set percpu.vector */
void machine_wait(void);   /* sti, hlt, cli: the same, asleep until one comes; none is lost before it sleeps */
void machine_interrupts_off(void);
void machine_halt(void);

/* ---- addresses in the image: no instruction ---- */
uint64_t machine_kernel_map(void);        /* physical address of the kernel's root table */
uint64_t machine_thread_start(void);      /* of arch_thread_start */
uint64_t machine_record(uint32_t thread); /* of arch_threads[thread] */
uint64_t machine_amdvi_done(void);        /* of the words in which units of IOMMUs say how far they are */
uint64_t machine_vtd_done(void);

/* ---- products of two numbers of 64 bits, of which 128 are taken: no action ---- */
uint64_t machine_scale(uint64_t a, uint64_t b);      /* from bit 32 on, 64 bits */
uint64_t machine_scale_rest(uint64_t a, uint64_t b); /* from bit 96 on */

/* ---- the vector unit ---- */
uint64_t machine_areas(void);                                 /* address of the areas of owners: no instruction */
void machine_save_vector(uint64_t area, uint64_t components); /* xsave64, to an area */
void machine_load_vector(uint64_t area, uint64_t components); /* xrstor64 */
void machine_save_vector_old(uint64_t area);                  /* fxsave64, to an area */
void machine_load_vector_old(uint64_t area);                  /* fxrstor64 */
void machine_unlock_vector(void);                             /* clts */
void machine_clear_x87(void);                                 /* fninit, and each register of MMX becomes 0 */
void machine_clear_upper(void);                               /* vzeroupper */
void machine_clear_xmm(void);                                 /* each of 16 registers becomes 0 */
void machine_load_mxcsr(uint32_t value);

/* ---- entry and exit ---- */
/* What a register held when the routine was entered: no instruction. */
#define RAX 0u
#define RCX 1u
#define RDX 2u
#define RBX 3u
#define RSP 4u
#define RBP 5u
#define RSI 6u
#define RDI 7u
#define R8 8u
#define R9 9u
#define R10 10u
#define R11 11u
#define R12 12u
#define R13 13u
#define R14 14u
#define R15 15u
uint64_t machine_register(uint32_t number);
/* Exchanges the user's base of GS and the CPU's record. */
void machine_swap_gs(void);
/* Goes on with these registers in user mode, GS with the user's base; of RIP and the flags by RCX and R11, or by the frame at the
 * stack pointer. Do not return. */
void machine_sysret(uint64_t rax, uint64_t rbx, uint64_t rcx, uint64_t rdx, uint64_t rsi, uint64_t rdi, uint64_t rbp,
                    uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12, uint64_t r13, uint64_t r14,
                    uint64_t r15, uint64_t rsp);
void machine_iret(uint64_t rax, uint64_t rbx, uint64_t rcx, uint64_t rdx, uint64_t rsi, uint64_t rdi, uint64_t rbp,
                  uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12, uint64_t r13, uint64_t r14,
                  uint64_t r15, uint64_t rip, uint64_t cs, uint64_t rflags, uint64_t rsp, uint64_t ss);
/* Goes on where it was interrupted, with the registers of then: as it was, or with interrupts off. Do not return. */
void machine_resume(void);
void machine_close_window(void);
/* Takes this stack pointer and returns there, in another thread. Does not return. */
void machine_continue(uint64_t rsp);
/* Calls a function on another stack, with 0 in RBP. What it leaves behind is not known. */
void machine_call_on(uint64_t stack, uint64_t function);
/* Calls fatal_exception with the address of these registers; above them are the vector, the error code and what the processor has
 * saved. What it leaves behind is not known. */
void machine_report(uint32_t vector, uint64_t rax, uint64_t rbx, uint64_t rcx, uint64_t rdx, uint64_t rsi, uint64_t rdi,
                    uint64_t rbp, uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12, uint64_t r13,
                    uint64_t r14, uint64_t r15);
/* The undefined instruction: where none is ever reached, and where a check of debug builds fails. Does not return. */
void machine_undefined(void);

/* ---- entry into guests ---- */
/* On SVM. While the global flag is clear, nothing interrupts, whatever the other flag is. */
void machine_global_interrupts_off(void); /* clgi */
void machine_global_interrupts_on(void);  /* stgi */
void machine_interrupts_on(void); /* sti; requires: the global flag is clear, and is not set with this one set */
/* FS, GS, TR and LDTR with their hidden parts, KERNEL_GS_BASE, STAR, LSTAR, CSTAR, SFMASK and the three of SYSENTER: from a
 * block at this physical address, or to it. Requires, of the host: this CPU's block, in which start-up has saved its own. */
void machine_load_guest(uint64_t block); /* vmload */
void machine_load_host(uint64_t block);  /* vmload */
void machine_save_guest(uint64_t block); /* vmsave */
/* vmrun, with RAX at the control block: the guest runs with these registers until it exits. Behind it RAX, RSP and the flags are
 * as before, all other registers are the guest's. */
void machine_run_guest(uint64_t block, uint64_t rcx, uint64_t rdx, uint64_t rbx, uint64_t rbp, uint64_t rsi,
                       uint64_t rdi, uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12, uint64_t r13,
                       uint64_t r14, uint64_t r15);
/* On VT-x: vmwrite of the stack pointer to the field from which an exit loads it. Requires of the control structure: the host's
 * RIP is vmx_exit_point, its base of GS is this CPU's record. */
void machine_write_host_stack(void);
/* vmlaunch, vmresume: the guest runs with these registers until it exits. 1: the processor has refused it, all registers are as
 * before. Requires: this stack pointer has been written. */
uint32_t machine_launch_guest(uint64_t rax, uint64_t rcx, uint64_t rdx, uint64_t rbx, uint64_t rbp, uint64_t rsi,
                              uint64_t rdi, uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12,
                              uint64_t r13, uint64_t r14, uint64_t r15);
uint32_t machine_resume_guest(uint64_t rax, uint64_t rcx, uint64_t rdx, uint64_t rbx, uint64_t rbp, uint64_t rsi,
                              uint64_t rdi, uint64_t r8, uint64_t r9, uint64_t r10, uint64_t r11, uint64_t r12,
                              uint64_t r13, uint64_t r14, uint64_t r15);
/* What a register holds directly behind one of these three: no instruction. */
uint64_t machine_guest_register(uint32_t number);

/* ---- segments, buffers ---- */
void machine_load_ds(uint32_t selector);
void machine_load_es(uint32_t selector);
void machine_load_fs(uint32_t selector);
void machine_load_gs(uint32_t selector); /* requires: the user's base is in GS */
void machine_clear_buffers(void);        /* verw, of a writable segment's selector */

/* Where the kernel sees physical memory. */
#define DIRECT_MAP 0xffff800000000000ul

#endif
