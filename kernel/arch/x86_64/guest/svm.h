/* AMD SVM with nested paging: private to the back end of arch.h's guest primitives. */
#ifndef ASHLAR_SVM_H
#define ASHLAR_SVM_H

#include <stdint.h>

#include "config.h"
#include "guest/guest.h"

#define CR0_WRITE_WATCHED 0u
#define CR0_WRITE_ONCE 1u /* the next entry lets the guest write CR0 */

/* The state of one guest. Used only by the CPU that runs it; flush is also set by a CPU that changes its nested map. */
struct svm_guest {
    uint64_t gpr[16]; /* as in the vcpu page; rax and rsp are in the control block while the guest runs */
    uint64_t dr[4];   /* dr0..dr3 while they are not in the processor */
    uint64_t dr7;     /* likewise; on TCG always */
    uint64_t info1;   /* of the last exit, in the terms of abi.h */
    uint64_t info2;
    uint64_t next_rip;
    uint32_t dr_loaded; /* 1: dr0..dr3 are in the processor and the guest may access them */
    uint32_t cr0_write; /* CR0_WRITE_*: see svm_long_mode.c */
    uint32_t window;    /* 1: exit when the guest can take an interrupt */
    uint32_t flush;     /* 1: drop its translations at the next entry */
    uint32_t fetched;   /* 1: the control block holds instruction bytes of the last exit */
    uint32_t page;      /* frame of the vcpu page, since the state was imported */
    uint32_t refused;   /* 1: the processor refused the state; the control block is undefined */
    uint32_t bank;      /* of a machine check's report, the next to be taken */
};

extern struct svm_guest svm_guest[NUM_VM];

/* Enables SVM if the processor has it with nested paging; returns 1, or 0. Start-up, on each CPU, when its segment and
 * system-call registers have their final values. */
uint32_t svm_init_cpu(void);

/* The primitives of arch.h on these processors. */
uint64_t svm_nested_entry(uint32_t frame, uint32_t prot);
uint64_t svm_nested_table(uint32_t frame);
void svm_vcpu_init(uint32_t vm);
uint32_t svm_vcpu_import_part(uint32_t vm, uint32_t frame);
uint32_t svm_vcpu_import(uint32_t vm, uint32_t frame);
void svm_vcpu_export(uint32_t vm, uint32_t frame);
uint32_t svm_vcpu_enter(uint32_t vm, uint32_t nested_root);
uint32_t svm_vcpu_report_part(uint32_t vm);
void svm_vcpu_flush(uint32_t vm);

/* The words of a control block; changes take effect at the next entry. */
uint64_t *svm_block(uint32_t vm);

/* Accessors of a control block by byte offset (vmcb.h). */
uint64_t vmcb_get(uint32_t vm, uint32_t offset);
void vmcb_set(uint32_t vm, uint32_t offset, uint64_t value);
uint32_t vmcb_get32(uint32_t vm, uint32_t offset);
void vmcb_set32(uint32_t vm, uint32_t offset, uint32_t value);

/* Writes the control fields that never change, and the reset state of the processor. */
void svm_control_init(uint32_t vm);
void svm_reset_state(uint32_t vm);

/* The event to inject again, from the event field of the control block; 0 if there is none, or if running the
 * instruction that raised it (INT n, INT3, INTO) raises it again. */
uint64_t svm_event_again(uint64_t event);

/* Sets info1, info2, next_rip of an exit that the monitor handles; returns its VCPU_EXIT_*. */
uint32_t svm_exit_reason(uint32_t vm, uint32_t code);

/* ---- svm_debug.c ---- */
void svm_debug_reset(uint32_t vm);
void svm_debug_import(uint32_t vm, uint32_t frame);
void svm_debug_export(uint32_t vm, uint64_t *page);
void svm_debug_enter(uint32_t vm);      /* before each entry */
uint32_t svm_debug_handle(uint32_t vm); /* an access has exited; 1: the guest continues with its registers */
void svm_debug_leave(uint32_t vm);      /* before the monitor or anything else runs */

/* ---- svm_cpuid.c ---- */
uint32_t svm_cpuid_handle(uint32_t vm); /* 1: answered from the vcpu page, the guest continues */

/* ---- svm_tcg.c ---- */
extern uint32_t svm_on_tcg; /* 1: the processor is QEMU's emulation */
void svm_tcg_init(void);
void svm_tcg_task(uint32_t vm);         /* the task register of the control block has been written */
void svm_tcg_before_entry(uint32_t vm); /* requires interrupts off */
void svm_tcg_after_exit(void);
/* 1 if the boot processor must not run guests beside other processors, else 0. Requires: svm_tcg_init() */
uint32_t svm_tcg_first_unfit(void);
/* Sets *stopped to 1 when this CPU can no longer be woken by anything; does not return. Requires: svm_tcg_first_unfit() */
_Noreturn void svm_tcg_stop(uint32_t *stopped);

/* ---- svm_long_mode.c ---- */
uint32_t svm_long_mode_enterable(uint32_t vm);             /* 0: the exit would crash the host */
void svm_long_mode_prepare(uint32_t vm);                   /* before each entry */
uint32_t svm_long_mode_handle(uint32_t vm, uint32_t code); /* 1: handled, the guest continues */

/* 1 if the processor reports the next ip; the instruction bytes. */
extern uint32_t svm_has_next_rip;
extern uint32_t svm_has_decode_assists;

#endif
