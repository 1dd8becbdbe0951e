/* Intel VT-x with EPT: private to the back end of arch.h's guest primitives.
 *
 * Each CPU has one control structure, which stays loaded. A guest's state is in memory, in struct vmx_guest; a run writes
 * to the structure what has changed since this guest was in it, or all of it, and at its end takes back what the guest may
 * have changed. So no structure ever has to be taken from another CPU, and all but transfer.c, processor.c and
 * enter.S can be tested on any machine. */
#ifndef ASHLAR_VMX_H
#define ASHLAR_VMX_H

#include <stdint.h>

#include "config.h"
#include "vmx/state.h"

/* The system-call registers, which entries and exits switch by lists. */
#define VMX_NUM_MSR 5u /* star lstar cstar sfmask kernel_gs_base */
struct vmx_msr {
    uint32_t index;
    uint32_t reserved;
    uint64_t value;
};

/* One guest. Used only by the CPU that runs it; flush is also set by a CPU that changes its nested map. */
struct vmx_guest {
    _Alignas(64) uint64_t gpr[16]; /* as in the vcpu page; rsp is in field[] */
    uint64_t field[VMX_NUM_FIELD];
    uint64_t cr2;
    uint64_t dr[4]; /* dr0..dr3 while they are not in the processor */
    uint64_t dr6;   /* likewise */
    uint64_t event; /* to inject at the next entry, in the format of abi.h */
    uint64_t info1; /* of the last exit, in the terms of abi.h */
    uint64_t info2;
    uint64_t next_rip;
    uint32_t changed;   /* VMX_GROUP_*: newer than what the control structure of `cpu` holds */
    uint32_t cpu;       /* whose structure holds this state, if its owner is this guest; NONE: none */
    uint32_t dr_loaded; /* 1: dr0..dr3 and dr6 are in the processor and the guest may access them */
    uint32_t window;    /* 1: exit when the guest can take an interrupt */
    uint32_t flush;     /* 1: drop its translations at the next entry */
    uint32_t page;      /* frame of the vcpu page, since the state was imported */
    uint32_t refused;   /* 1: the processor refused the state */
    uint32_t bank;      /* of a machine check's report, the next to be taken */
};

/* What an exit reports. */
struct vmx_exit {
    uint32_t reason; /* REASON_* */
    uint64_t qualification;
    uint64_t int_info;
    uint64_t int_error;
    uint64_t length; /* of the instruction */
    uint64_t instruction;
    uint64_t guest_physical;
};

extern struct vmx_guest vmx_guest[NUM_VM];
extern struct vmx_msr vmx_guest_msr[NUM_VM][VMX_NUM_MSR];
extern uint8_t vmx_virtual_apic[NUM_VM][4096];
#define VIRTUAL_APIC_TPR 0x80u

/* The primitives of arch.h on these processors. */
void vmx_vcpu_init(uint32_t vm);
uint32_t vmx_vcpu_import_part(uint32_t vm, uint32_t frame);
uint32_t vmx_vcpu_import(uint32_t vm, uint32_t frame);
void vmx_vcpu_export(uint32_t vm, uint32_t frame);
uint32_t vmx_vcpu_load_part(uint32_t vm); /* but the vector unit */
uint32_t vmx_vcpu_enter(uint32_t vm, uint32_t nested_root);
uint32_t vmx_vcpu_report_part(uint32_t vm);
void vmx_vcpu_flush(uint32_t vm);

/* ---- ept.c ---- */
uint64_t ept_entry(uint32_t frame, uint32_t prot);
uint64_t ept_table(uint32_t frame);
uint64_t ept_pointer(uint32_t root);

/* ---- processor.c ---- */
/* Enables VMX on this CPU and fills what never changes of its control structure. Returns 0, or what it lacks. Start-up, on
 * each CPU, when its segment, control and system-call registers have their final values. */
const char *vmx_init_cpu(void);
uint64_t vmx_read(uint32_t field);
void vmx_write(uint32_t field, uint64_t value);
uint32_t vmx_primary_controls(void); /* those that never change */
uint32_t vmx_entry_controls(void);
void vmx_drop_translations(uint64_t eptp);
uint32_t vmx_take(uint32_t vm); /* makes vm the owner of this CPU's structure: 1 if it was; 0: nothing of it is there */
void vmx_host_begin(uint32_t nested_root); /* this CPU's state of this run is what an exit is to restore */
void vmx_host_end(void);                   /* restores what exits do not */
uint32_t vmx_launch(uint32_t vm);          /* one entry: 0, or the error by which the processor refused it */
void vmx_nmi(void);                        /* the NMI that ended the run comes to the kernel's handler */

/* ---- enter.S ---- */
uint32_t vmx_enter(uint64_t *gpr, uint32_t launched); /* 0: exited, 1: refused */
extern const uint64_t vmx_exit_point;                 /* where exits come to */

/* ---- transfer.c ---- */
uint32_t vmx_state_out(uint32_t vm); /* to the control structure, before a run: one part, or 0: all is there */
void vmx_entry_out(uint32_t vm);     /* ... before each entry */
void vmx_exit_in(uint32_t vm, struct vmx_exit *exit); /* from it, after each exit */
void vmx_state_in(uint32_t vm);                       /* ... at the end of a run */

/* ---- state.c ---- */
void vmx_reset_state(uint32_t vm);

/* ---- event.c ---- */
/* The event to inject again, of one whose delivery was interrupted; 0 if there is none, or if running the instruction that
 * raised it raises it again. */
uint64_t vmx_event_again(uint64_t info, uint64_t error_code);
/* The event as this guest can be given it: what abi.h leaves open is as the processor wants it. */
uint64_t vmx_event_fit(uint64_t event, uint64_t cr0);

/* ---- exit.c ---- */
/* Sets info1, info2, next_rip of an exit that the monitor handles; returns its VCPU_EXIT_*. */
uint32_t vmx_exit_reason(uint32_t vm, const struct vmx_exit *exit);

/* ---- control.c ---- */
/* A guest has written bits of CR0 or CR4 that are not its own. 1: it continues. */
uint32_t vmx_control_handle(uint32_t vm, const struct vmx_exit *exit);

/* ---- cpuid.c ---- */
uint32_t vmx_cpuid_handle(uint32_t vm, const struct vmx_exit *exit); /* 1: answered, the guest continues */

/* ---- debug.c ---- */
void vmx_debug_reset(uint32_t vm);
void vmx_debug_import(uint32_t vm, uint32_t frame);
void vmx_debug_export(uint32_t vm, uint64_t *page);
void vmx_debug_enter(uint32_t vm);                         /* before each entry */
void vmx_debug_load(uint32_t vm);                          /* the guest has them from now on */
void vmx_debug_raise(uint32_t vm, uint64_t qualification); /* a debug exception has exited */
void vmx_debug_leave(uint32_t vm);                         /* before the monitor or anything else runs */

/* ---- check.c ---- */
/* The encoding of the first field that the manual's rules for entries forbid, 0 if none is found. */
uint32_t vmx_wrong_field(uint32_t vm);

#endif
