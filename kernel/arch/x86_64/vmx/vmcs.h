/* Intel's virtual machine control structure: encodings of the fields used, with the reason for each, and the bits of their
 * values. The names are those of Intel's manual, volume 3, appendix B. */
#ifndef ASHLAR_VMCS_H
#define ASHLAR_VMCS_H

/* ---- controls, set once for each CPU unless said ---- */
#define VMCS_VPID 0x0000u             /* tags a guest's translations, so that they survive exits; each guest's own */
#define VMCS_MSR_BITMAP 0x2004u       /* all accesses exit but those of registers that are switched */
#define VMCS_EXIT_MSR_STORE 0x2006u   /* where an exit leaves the guest's system-call registers; each guest's own */
#define VMCS_EXIT_MSR_LOAD 0x2008u    /* the CPU's own system-call registers */
#define VMCS_ENTRY_MSR_LOAD 0x200au   /* the guest's; each guest's own */
#define VMCS_VIRTUAL_APIC 0x2012u     /* page in whose word 0x80 the guest's CR8 lives; each guest's own */
#define VMCS_EPT_POINTER 0x201au      /* root of the nested page map; each guest's own */
#define VMCS_LINK_POINTER 0x2800u     /* all ones: there is no shadow structure */
#define VMCS_PIN_CONTROLS 0x4000u     /* what physical interrupts do */
#define VMCS_PRIMARY_CONTROLS 0x4002u /* what instructions exit; changes with window and debug registers */
#define VMCS_EXCEPTION_BITMAP 0x4004u /* exceptions that exit */
#define VMCS_PAGE_FAULT_MASK 0x4006u  /* zero, as the next: no page fault exits */
#define VMCS_PAGE_FAULT_MATCH 0x4008u
#define VMCS_CR3_TARGETS 0x400au   /* none: writes of CR3 never exit */
#define VMCS_EXIT_CONTROLS 0x400cu /* what an exit saves and loads */
#define VMCS_EXIT_MSR_STORE_COUNT 0x400eu
#define VMCS_EXIT_MSR_LOAD_COUNT 0x4010u
#define VMCS_ENTRY_CONTROLS 0x4012u /* what an entry loads; one bit is the guest's mode */
#define VMCS_ENTRY_MSR_LOAD_COUNT 0x4014u
#define VMCS_ENTRY_EVENT 0x4016u /* event to inject; each entry */
#define VMCS_ENTRY_ERROR_CODE 0x4018u
#define VMCS_TPR_THRESHOLD 0x401cu /* zero: a guest's CR8 never exits */
#define VMCS_SECONDARY_CONTROLS 0x401eu
#define VMCS_CR0_MASK 0x6000u /* bits of CR0 that are not the guest's to set in the processor */
#define VMCS_CR4_MASK 0x6002u

/* ---- what an exit reports ---- */
#define VMCS_GUEST_PHYSICAL 0x2400u    /* of a violation of the nested map */
#define VMCS_INSTRUCTION_ERROR 0x4400u /* why VMLAUNCH or VMRESUME was refused */
#define VMCS_EXIT_REASON 0x4402u
#define VMCS_EXIT_INT_INFO 0x4404u /* the exception or interrupt that exits */
#define VMCS_EXIT_INT_ERROR 0x4406u
#define VMCS_VECTORING_INFO 0x4408u /* event whose delivery the exit interrupted */
#define VMCS_VECTORING_ERROR 0x440au
#define VMCS_INSTRUCTION_LENGTH 0x440cu
#define VMCS_INSTRUCTION_INFO 0x440eu /* address size of string I/O */
#define VMCS_EXIT_QUALIFICATION 0x6400u

/* ---- the guest's state (state.h lists it) ---- */
#define VMCS_GUEST_SELECTOR 0x0800u /* + 2 * i: es cs ss ds fs gs ldtr tr; so the next three */
#define VMCS_GUEST_LIMIT 0x4800u    /* i = 8, 9: gdtr idtr */
#define VMCS_GUEST_ACCESS 0x4814u
#define VMCS_GUEST_BASE 0x6806u /* i = 8, 9: gdtr idtr */
#define VMCS_GUEST_DEBUG_CONTROL 0x2802u
#define VMCS_GUEST_PAT 0x2804u
#define VMCS_GUEST_EFER 0x2806u
#define VMCS_GUEST_PDPTE 0x280au /* + 2 * i: the four entries that 32-bit paging with PAE caches */
#define VMCS_TSC_OFFSET 0x2010u
#define VMCS_GUEST_INTERRUPTIBILITY 0x4824u
#define VMCS_GUEST_ACTIVITY 0x4826u
#define VMCS_GUEST_SYSENTER_CS 0x482au
#define VMCS_CR0_SHADOW 0x6004u /* what the guest reads in the bits of the mask */
#define VMCS_CR4_SHADOW 0x6006u
#define VMCS_GUEST_CR0 0x6800u
#define VMCS_GUEST_CR3 0x6802u
#define VMCS_GUEST_CR4 0x6804u
#define VMCS_GUEST_DR7 0x681au
#define VMCS_GUEST_RSP 0x681cu
#define VMCS_GUEST_RIP 0x681eu
#define VMCS_GUEST_RFLAGS 0x6820u
#define VMCS_GUEST_PENDING_DEBUG 0x6822u
#define VMCS_GUEST_SYSENTER_ESP 0x6824u
#define VMCS_GUEST_SYSENTER_EIP 0x6826u

/* ---- the host's state, loaded by exits ---- */
#define VMCS_HOST_ES 0x0c00u
#define VMCS_HOST_CS 0x0c02u
#define VMCS_HOST_SS 0x0c04u
#define VMCS_HOST_DS 0x0c06u
#define VMCS_HOST_FS 0x0c08u
#define VMCS_HOST_GS 0x0c0au
#define VMCS_HOST_TR 0x0c0cu
#define VMCS_HOST_PAT 0x2c00u
#define VMCS_HOST_EFER 0x2c02u
#define VMCS_HOST_SYSENTER_CS 0x4c00u
#define VMCS_HOST_CR0 0x6c00u /* each run: its TS bit changes */
#define VMCS_HOST_CR3 0x6c02u /* each run: the monitor's page map */
#define VMCS_HOST_CR4 0x6c04u
#define VMCS_HOST_FS_BASE 0x6c06u
#define VMCS_HOST_GS_BASE 0x6c08u /* the per-CPU record */
#define VMCS_HOST_TR_BASE 0x6c0au
#define VMCS_HOST_GDTR_BASE 0x6c0cu
#define VMCS_HOST_IDTR_BASE 0x6c0eu
#define VMCS_HOST_SYSENTER_ESP 0x6c10u
#define VMCS_HOST_SYSENTER_EIP 0x6c12u
#define VMCS_HOST_RSP 0x6c14u /* each entry, by enter.S */
#define VMCS_HOST_RIP 0x6c16u

#define PIN_INTERRUPT (1u << 0)
#define PIN_NMI (1u << 3)
#define PIN_VIRTUAL_NMI (1u << 5)
#define PRIMARY_WINDOW (1u << 2)
#define PRIMARY_TSC_OFFSET (1u << 3)
#define PRIMARY_HLT (1u << 7)
#define PRIMARY_MWAIT (1u << 10)
#define PRIMARY_RDPMC (1u << 11)
#define PRIMARY_CR3_LOAD (1u << 15)
#define PRIMARY_CR3_STORE (1u << 16)
#define PRIMARY_TPR_SHADOW (1u << 21)
#define PRIMARY_MOV_DR (1u << 23)
#define PRIMARY_IO (1u << 24)
#define PRIMARY_MSR_BITMAP (1u << 28)
#define PRIMARY_MONITOR (1u << 29)
#define PRIMARY_SECONDARY (1u << 31)
#define SECONDARY_EPT (1u << 1)
#define SECONDARY_VPID (1u << 5)
#define SECONDARY_WBINVD (1u << 6)
#define SECONDARY_UNRESTRICTED (1u << 7)
#define EXIT_DEBUG_CONTROLS (1u << 2)
#define EXIT_HOST_64 (1u << 9)
#define EXIT_SAVE_PAT (1u << 18)
#define EXIT_LOAD_PAT (1u << 19)
#define EXIT_SAVE_EFER (1u << 20)
#define EXIT_LOAD_EFER (1u << 21)
#define ENTRY_DEBUG_CONTROLS (1u << 2)
#define ENTRY_LONG_MODE (1u << 9)
#define ENTRY_LOAD_PAT (1u << 14)
#define ENTRY_LOAD_EFER (1u << 15)

#define EVENT_VALID (1ul << 31)
#define EVENT_HAS_ERROR_CODE (1ul << 11)
#define EVENT_TYPE_SHIFT 8u
#define EVENT_TYPE_EXTERNAL 0u
#define EVENT_TYPE_NMI 2u
#define EVENT_TYPE_EXCEPTION 3u
#define EVENT_FIELDS 0xffffffff80000ffful /* error code, valid, has error code, type, vector, as in abi.h */

#define BLOCKED_BY_STI 1ul
#define BLOCKED_BY_MOV_SS 2ul
#define BLOCKED_BY_NMI 8ul
#define PENDING_SINGLE_STEP (1ul << 14)

#define ACCESS_TYPE 0xful
#define ACCESS_ACCESSED 1ul
#define ACCESS_BUSY 2ul /* of a task state segment */
#define ACCESS_SYSTEM_SEGMENT 0x10ul
#define ACCESS_DPL_SHIFT 5u
#define ACCESS_PRESENT 0x80ul
#define ACCESS_LONG (1ul << 13)
#define ACCESS_DEFAULT_SIZE (1ul << 14)
#define ACCESS_PAGES (1ul << 15)
#define ACCESS_UNUSABLE (1ul << 16)

/* ---- basic exit reasons ---- */
#define REASON_ENTRY_FAILED (1u << 31)
#define REASON_EXCEPTION 0u
#define REASON_INTERRUPT 1u
#define REASON_TRIPLE_FAULT 2u
#define REASON_INIT 3u
#define REASON_WINDOW 7u
#define REASON_CPUID 10u
#define REASON_GETSEC 11u
#define REASON_HLT 12u
#define REASON_INVD 13u
#define REASON_RDPMC 15u
#define REASON_VMCALL 18u
#define REASON_VMCLEAR 19u
#define REASON_VMXON 27u
#define REASON_CR_ACCESS 28u
#define REASON_DR_ACCESS 29u
#define REASON_IO 30u
#define REASON_MSR_READ 31u
#define REASON_MSR_WRITE 32u
#define REASON_INVALID_STATE 33u
#define REASON_MSR_LOAD 34u
#define REASON_MWAIT 36u
#define REASON_MONITOR 39u
#define REASON_ENTRY_MACHINE_CHECK 41u
#define REASON_EPT_VIOLATION 48u
#define REASON_INVEPT 50u
#define REASON_INVVPID 53u
#define REASON_WBINVD 54u
#define REASON_XSETBV 55u
#define REASON_REFUSED 0xffffu /* ours: VMLAUNCH or VMRESUME itself failed; the upper half has the error */

#define QUALIFICATION_READ 1ul
#define QUALIFICATION_WRITE 2ul
#define QUALIFICATION_FETCH 4ul
#define QUALIFICATION_LINEAR (1ul << 7)
#define QUALIFICATION_FINAL (1ul << 8) /* of the page, not of a table on the way */
#define QUALIFICATION_NMI_UNBLOCKED (1ul << 12)

#define EXCEPTION_DEBUG 1u
#define EXCEPTION_ALIGNMENT 17u
#define EXCEPTION_MACHINE_CHECK 18u

#endif
