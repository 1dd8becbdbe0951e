/* The hardware interface: every primitive that touches the machine. Implemented by arch/x86_64 for the PC and by
 * arch/hosted on Linux threads for unit tests, fuzzing and native benchmarks. Not part of the certified C: the proofs
 * assume what is said here. Interrupts are off whenever a layer runs. */
#ifndef ASHLAR_ARCH_H
#define ASHLAR_ARCH_H

#include <stdint.h>

#include "config.h"

/* ---- processors ---- */
uint32_t arch_cpu(void);          /* index of the CPU that runs this */
uint32_t arch_cpu_count(void);    /* CPUs started */
uint32_t arch_need_resched(void); /* this CPU's value of arch_set_need_resched; 0 at first */
/* 1: a reschedule is pending on this CPU. Read at every kernel exit, so it is a per-CPU variable. */
void arch_set_need_resched(uint32_t pending);

/* index & mask, also where the processor speculates past a check that index <= mask. */
uint64_t arch_index_mask(uint64_t index, uint64_t mask);
/* This CPU's value of arch_set_floor; ARCH_FLOOR_NONE at first. The scheduler keeps here the priority that a thread
 * must have at least to be switched to directly: the number of the best ready priority plus 1, or ARCH_FLOOR_NONE while
 * a reschedule is pending or a reservation is charged. */
#define ARCH_FLOOR_NONE 0xffffffffu
uint32_t arch_floor(void);
void arch_set_floor(uint32_t floor);

uint32_t arch_highest_bit(uint64_t word); /* index of the highest set bit; requires word != 0 */

/* ---- atomic cells, each on a cache line of its own ---- */
#define NUM_ATOMIC_CELL 32768u
uint64_t arch_atomic_load(uint32_t cell);                                   /* acquire */
void arch_atomic_store(uint32_t cell, uint64_t value);                      /* release */
uint64_t arch_atomic_fetch_add(uint32_t cell, uint64_t value);              /* returns the old value */
uint64_t arch_atomic_swap(uint32_t cell, uint64_t value);                   /* returns the old value */
uint64_t arch_atomic_cas(uint32_t cell, uint64_t expected, uint64_t value); /* returns the old value */
void arch_spin_hint(void);

/* Ghost operations for the proofs; no instructions. Between the two, only this CPU may access what the lock guards.
 * arch_own requires that this CPU has just acquired lock, arch_disown that it is about to release it. The lock's own
 * atomic cells order memory. */
void arch_own(uint32_t lock);
void arch_disown(uint32_t lock);

/* ---- frames (physical memory by 4 KiB frame and 64-bit word) ---- */
uint32_t arch_frame_limit(void); /* at most NUM_FRAME; memory from this frame on is never used */
uint64_t arch_frame_read(uint32_t frame, uint32_t word);
void arch_frame_write(uint32_t frame, uint32_t word, uint64_t value);
void arch_frame_copy(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words); /* same word indices in both */
void arch_frame_copy_piece(uint32_t to, uint32_t from, uint32_t first_word,
                           uint32_t words); /* of a page; first_word % 8 == 0 */
void arch_frame_clear(uint32_t frame);

/* ---- page maps: 4 levels of 512 entries ---- */
#define ARCH_PTE_PRESENT 0x1ul
#define ARCH_PTE_WRITE 0x2ul
#define ARCH_PTE_USER 0x4ul
#define ARCH_PTE_UNCACHED 0x18ul /* PWT | PCD, for device windows */
/* Processors set these where they are not set. All that page maps hold has them set from the start, so that no word of a page
 * map changes but by the kernel. */
#define ARCH_PTE_ACCESSED 0x20ul
#define ARCH_PTE_DIRTY 0x40ul /* of pages alone */
#define ARCH_PTE_NO_EXECUTE 0x8000000000000000ul
/* Software bit: the frame belongs to the process (not a device, not the image). */
#define ARCH_PTE_OWNED 0x200ul
#define ARCH_PTE_PINNED 0x400ul /* software bit: stays mapped until the process ends */
#define ARCH_PTE_FRAME_SHIFT 12u
#define ARCH_PTE_FRAME_MASK 0x000ffffffffff000ul
uint64_t arch_kernel_map_entry(uint32_t index); /* entry 256..511, the same in every page map's root; accessed */
void arch_page_map_load(uint32_t root);         /* drops all non-global translations of this CPU */
void arch_page_map_load_kernel(void);           /* the kernel's own map, without user half */
uint32_t arch_loaded_root(void);                /* what this CPU has loaded; NONE: the kernel's own map, as at first */
uint32_t arch_loaded_root_of(uint32_t cpu);     /* the same of another CPU, which does not run meanwhile */
void arch_tlb_invalidate_page(uint64_t address);
void arch_tlb_invalidate_user(void); /* all translations of this CPU that are not global: of user addresses */

/* ---- trace ---- */
/* Records an event of this CPU; only in kernels built with TRACE=1. `when` in nanoseconds, `what` one of TRACE_*. */
void arch_trace(uint64_t when, uint32_t what, uint32_t detail);

/* ---- interrupts ---- */
/* Line i < NUM_IRQ_LINE of the interrupt controller raises vector VECTOR_BASE + i. */
#define VECTOR_BASE 32u
#define NUM_IRQ_LINE 24u
#define VECTOR_TIMER 56u
#define VECTOR_RESCHEDULE 57u
#define VECTOR_TLB 58u
#define VECTOR_STOP 59u    /* another CPU has stopped the machine */
#define VECTOR_PROCESS 61u /* a process's threads on this CPU are to be started or ended */
#define VECTOR_SPURIOUS 63u
uint32_t arch_interrupt_pending(void); /* 1 if an interrupt is pending for this CPU; opens no window */
uint32_t arch_interrupt_poll(void);    /* takes one pending interrupt: its vector, or NONE */
uint32_t arch_idle(void);              /* sleeps until an interrupt and takes it: its vector */
void arch_interrupt_end(void);         /* end of interrupt to the local controller */
void arch_interrupt_send(uint32_t cpu, uint32_t vector);
/* Flags: 1 level triggered, 2 active low; ensures: masked. */
void arch_line_route(uint32_t line, uint32_t cpu, uint32_t flags);
void arch_line_mask(uint32_t line);
void arch_line_unmask(uint32_t line);
/* A PCI function can raise a line by a message, a write of `data` to `address`, instead of by its pin. A message cannot be
 * masked; it is not lost, but one that waits stands for all that follow. */
void arch_message_route(uint32_t line, uint32_t function); /* after arch_line_route: this function may; start-up */
uint64_t arch_message_address(uint32_t line); /* 0: no function may, or the machine cannot deliver its messages */
uint32_t arch_message_data(uint32_t line);

/* ---- IOMMU ----
 * A PCI function (its number: bus << 8 | device << 3 | function, below 65536) that is attached to a domain reaches what
 * the domain's tables map; other functions reach no memory. Units cache translations until these are invalidated. */
/* Levels of a domain's tables, 512 entries each; 0: no IOMMU, devices reach all memory. */
uint32_t arch_iommu_levels(void);
uint64_t arch_iommu_leaf(uint32_t frame, uint32_t prot);   /* entry of a table of level 0; never 0 */
uint64_t arch_iommu_table(uint32_t frame, uint32_t level); /* entry that points to a table of this level */
uint32_t arch_iommu_frame(uint64_t entry);
/* Makes one of the ARCH_IOMMU_PARTS parts of a table visible to units; all, before an entry points to it. */
#define ARCH_IOMMU_PARTS 8u
void arch_iommu_publish(uint32_t table, uint32_t part);
/* Writes an entry and makes it visible to units. */
void arch_iommu_write(uint32_t table, uint32_t word, uint64_t entry);
/* Attach and detach change the function's entry alone: an arch_iommu_update of each unit must follow. */
void arch_iommu_attach(uint32_t function, uint32_t domain, uint32_t root); /* requires: it is not attached */
void arch_iommu_detach(uint32_t function);
uint32_t arch_iommu_units(void); /* at most NUM_IOMMU; 0: none */
uint32_t
arch_iommu_caches_absent(void); /* 1: units keep that an entry was 0, and are to be updated when it is written */
/* When it returns, this unit keeps nothing of the function and of the domain that was removed or changed before. */
void arch_iommu_update(uint32_t unit, uint32_t function, uint32_t domain);
uint64_t arch_iommu_refused(void); /* bit u: unit u has recorded refusals that have not been taken yet */
/* Takes one recorded refusal of a unit: function, bit 16 set for a write; NONE if there is none. */
uint32_t arch_iommu_fault(uint32_t unit);
uint64_t arch_iommu_fault_address(void);               /* of the one taken last */
void arch_iommu_listen(uint32_t cpu, uint32_t vector); /* a recorded refusal interrupts this CPU; NONE: no CPU */

/* ---- time ---- */
uint64_t arch_clock_ns(void);              /* since boot, the same on all CPUs */
void arch_timer_arm(uint64_t deadline_ns); /* one VECTOR_TIMER on this CPU at or soon after the deadline */
void arch_timer_stop(void);

/* ---- serial port, keyboard, I/O ports, end of run ---- */
#define SERIAL_ROOM 0xffu                             /* bytes the transmitter takes now, 0..16 */
#define SERIAL_RECEIVED 0x100u                        /* a byte has been received */
uint32_t arch_serial_status(void);                    /* SERIAL_* */
void arch_serial_put(uint32_t byte);                  /* requires room since the last status */
uint32_t arch_serial_get(void);                       /* requires SERIAL_RECEIVED */
void arch_serial_transmit_interrupt(uint32_t enable); /* interrupt when the transmitter runs empty */
#define SERIAL_LINE 4u
#define KEYBOARD_LINE 1u
uint32_t arch_keyboard_get(void);                     /* scan code or NONE */
uint32_t arch_port_in(uint32_t port, uint32_t width); /* width 1, 2 or 4 bytes */
void arch_port_out(uint32_t port, uint32_t width, uint32_t value);
void arch_power_off(uint32_t code); /* powers the machine off; does not return */

/* ---- user contexts: the registers that the kernel entry saved ---- */
#define UCTX_RAX 0u
#define UCTX_RBX 1u
#define UCTX_RCX 2u
#define UCTX_RDX 3u
#define UCTX_RSI 4u
#define UCTX_RDI 5u
#define UCTX_RBP 6u
#define UCTX_R8 7u /* r8..r15 at 7..14 */
#define UCTX_R9 8u
#define UCTX_R10 9u
#define UCTX_R11 10u
#define UCTX_R12 11u
#define UCTX_R13 12u
#define UCTX_R14 13u
#define UCTX_R15 14u
#define UCTX_VECTOR 15u /* of the last exception or interrupt */
#define UCTX_ERROR_CODE 16u
#define UCTX_RIP 17u
#define UCTX_CS 18u /* constant; 17..21 is the frame of iretq */
#define UCTX_RFLAGS 19u
#define UCTX_RSP 20u
#define UCTX_SS 21u /* constant */
#define UCTX_FAULT_ADDRESS 22u
#define UCTX_WORDS 24u
uint64_t arch_uctx_get(uint32_t thread, uint32_t word);
/* Of UCTX_RIP only the address bits of the lower half are kept, of UCTX_RFLAGS only the flags that a user may change.
 * UCTX_CS and UCTX_SS must not be set. */
void arch_uctx_set(uint32_t thread, uint32_t word, uint64_t value);
void arch_fpu_reset(uint32_t thread); /* fresh vector state; requires that the thread runs nowhere */
void arch_fpu_use(void);              /* the current thread has used the vector unit: loads its state */

/* The vector unit holds the current thread's state from arch_fpu_use on until arch_fpu_leave, which is called before each
 * switch: arch_fpu_left is 0 in between, else 1. */
uint32_t arch_fpu_left(void);
void arch_fpu_leave(void);
/* Tells the timing analysis that the unit does not hold it. Requires: so it is. */
void arch_fpu_unused(void);

/* ---- threads: kernel stacks and switching ---- */
/* Clears its user context; the next switch to it calls trap_leave() on an empty kernel stack, then goes to user
 * mode. */
void arch_thread_init(uint32_t thread);
/* From the current thread to another one of this CPU. Returns when the thread that called it is switched to again. */
void arch_switch(uint32_t to);
/* From now on until its next arch_thread_init this thread of this CPU calls trap_end() instead of going to user mode. */
void arch_end_at_exit(uint32_t thread);
uint32_t arch_ends_at_exit(uint32_t thread); /* 1 if it is so, else 0 */
uint32_t arch_current(void);            /* the thread arch_switch went to last on this CPU; its idle thread at first */
uint32_t arch_current_of(uint32_t cpu); /* the same of another CPU, which does not run meanwhile */

/* ---- guests (AMD SVM with nested paging, Intel VT-x with EPT). vm < NUM_VM ---- */
uint32_t arch_vm_supported(void);
uint64_t arch_nested_entry(uint32_t frame, uint32_t prot); /* leaf entry of a nested page map; never 0 */
uint64_t arch_nested_table(uint32_t frame);                /* entry that points to a lower table */
uint32_t arch_nested_frame(uint64_t entry);
void arch_vcpu_init(uint32_t vm); /* reset state */
/* Vcpu page -> hardware state, sanitised: one group of words that VCPU_CHANGED names, whose bit it clears; returns 1, or 0
 * if there was none. */
uint32_t arch_vcpu_import_part(uint32_t vm, uint32_t frame);
/* The same of the words that belong to no group; 0 if the state is invalid. Requires: arch_vcpu_import_part returned 0. */
uint32_t arch_vcpu_import(uint32_t vm, uint32_t frame);
void arch_vcpu_export(uint32_t vm, uint32_t frame); /* hardware state -> vcpu page */
/* Hardware state -> this CPU: one part of what an entry needs there; returns 1, or 0 if all of it is there. */
uint32_t arch_vcpu_load_part(uint32_t vm);
/* Runs the guest; VCPU_EXIT_*, VCPU_EXIT_NONE for a physical interrupt. Requires: arch_vcpu_load_part returned 0, and no
 * interrupt was served since. */
uint32_t arch_vcpu_enter(uint32_t vm, uint32_t nested_root);
/* After VCPU_EXIT_MACHINE_CHECK and VCPU_EXIT_INVALID_STATE, before the export: finds a part of what the exit is to report;
 * returns 1, or 0 if nothing is left. */
uint32_t arch_vcpu_report_part(uint32_t vm);
/* Nested entries were removed: drop guest translations at the next entry. */
void arch_vcpu_flush(uint32_t vm);

#endif
