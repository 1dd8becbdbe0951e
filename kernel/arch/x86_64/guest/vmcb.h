/* AMD's virtual machine control block: byte offsets of the fields used, and the values they take. The names are
 * those of the AMD64 manual, volume 2, appendix B and C. */
#ifndef ASHLAR_VMCB_H
#define ASHLAR_VMCB_H

#define VMCB_BYTES 4096u

#define MSR_VM_CR 0xc0010114u
#define MSR_VM_HSAVE_PA 0xc0010117u
#define EFER_LME 0x100ul
#define EFER_LMA 0x400ul
#define EFER_SVME 0x1000ul

/* ---- control area ---- */
#define VMCB_INTERCEPT_CR 0x000u /* 32 bits: reads in the low half, writes in the high half */
#define VMCB_INTERCEPT_DR 0x004u /* likewise */
#define VMCB_INTERCEPT_EXCEPTION 0x008u
#define VMCB_INTERCEPT_1 0x00cu
#define VMCB_INTERCEPT_2 0x010u
#define VMCB_IOPM_BASE 0x040u
#define VMCB_MSRPM_BASE 0x048u
#define VMCB_TSC_OFFSET 0x050u
#define VMCB_ASID 0x058u
#define VMCB_TLB_CONTROL 0x05cu
#define VMCB_INT_CONTROL 0x060u
#define VMCB_INT_STATE 0x068u
#define VMCB_EXIT_CODE 0x070u
#define VMCB_EXIT_INFO1 0x078u
#define VMCB_EXIT_INFO2 0x080u
#define VMCB_EXIT_INT_INFO 0x088u
#define VMCB_NESTED_CONTROL 0x090u
#define VMCB_EVENT_INJECT 0x0a8u
#define VMCB_NESTED_CR3 0x0b0u
#define VMCB_CLEAN 0x0c0u
#define VMCB_NEXT_RIP 0x0c8u
#define VMCB_FETCHED 0x0d0u /* 1 byte: how many; 15 bytes follow */

#define INTERCEPT_CR4_WRITE (1u << 20)
#define INTERCEPT_CR8_WRITE (1u << 24)
#define INTERCEPT_1_INTR (1u << 0)
#define INTERCEPT_1_NMI (1u << 1)
#define INTERCEPT_1_SMI (1u << 2)
#define INTERCEPT_1_INIT (1u << 3)
#define INTERCEPT_1_VINTR (1u << 4)
#define INTERCEPT_1_CR0_SELECTED (1u << 5) /* writes to CR0 that change more than TS and MP */
#define INTERCEPT_1_RDPMC (1u << 15)
#define INTERCEPT_1_CPUID (1u << 18)
#define INTERCEPT_1_INVD (1u << 22)
#define INTERCEPT_1_HLT (1u << 24)
#define INTERCEPT_1_INVLPGA (1u << 26)
#define INTERCEPT_1_IOIO (1u << 27)
#define INTERCEPT_1_MSR (1u << 28)
#define INTERCEPT_1_TASK_SWITCH (1u << 29)
#define INTERCEPT_1_FERR_FREEZE (1u << 30)
#define INTERCEPT_1_SHUTDOWN (1u << 31)
#define INTERCEPT_2_VMRUN (1u << 0)
#define INTERCEPT_2_VMMCALL (1u << 1)
#define INTERCEPT_2_VMLOAD (1u << 2)
#define INTERCEPT_2_VMSAVE (1u << 3)
#define INTERCEPT_2_STGI (1u << 4)
#define INTERCEPT_2_CLGI (1u << 5)
#define INTERCEPT_2_SKINIT (1u << 6)
#define INTERCEPT_2_WBINVD (1u << 9)
#define INTERCEPT_2_MONITOR (1u << 10)
#define INTERCEPT_2_MWAIT (1u << 11)
#define INTERCEPT_2_XSETBV (1u << 13)
#define INTERCEPT_2_RDPRU (1u << 14)

#define TLB_CONTROL_KEEP 0u
#define TLB_CONTROL_FLUSH_ALL 1u
#define TLB_CONTROL_FLUSH_ASID 3u
#define INT_CONTROL_TPR 0xful
#define INT_CONTROL_IRQ (1ul << 8)
#define INT_CONTROL_PRIORITY (0xful << 16)
#define INT_CONTROL_IGNORE_TPR (1ul << 20)
#define INT_CONTROL_MASKING (1ul << 24)
#define EVENT_VALID (1ul << 31)
#define EVENT_HAS_ERROR_CODE (1ul << 11)
#define EVENT_TYPE_SHIFT 8u
#define EVENT_TYPE_EXTERNAL 0u
#define EVENT_TYPE_NMI 2u
#define EVENT_TYPE_EXCEPTION 3u
#define EVENT_FIELDS 0xffffffff80000ffful /* error code, valid, has error code, type, vector */

/* ---- state save area ---- */
#define VMCB_SEGMENTS 0x400u /* es cs ss ds fs gs gdtr ldtr idtr tr, 16 bytes each */
#define VMCB_ES 0x400u
#define VMCB_GDTR 0x460u
#define VMCB_LDTR 0x470u
#define VMCB_IDTR 0x480u
#define VMCB_TR 0x490u
#define VMCB_CPL 0x4cbu /* 1 byte */
#define VMCB_EFER 0x4d0u
#define VMCB_CR4 0x548u
#define VMCB_CR3 0x550u
#define VMCB_CR0 0x558u
#define VMCB_DR7 0x560u
#define VMCB_DR6 0x568u
#define VMCB_RFLAGS 0x570u
#define VMCB_RIP 0x578u
#define VMCB_RSP 0x5d8u
#define VMCB_RAX 0x5f8u
/* Star lstar cstar sfmask kernel_gs_base sysenter_cs _esp _eip, 8 bytes each. */
#define VMCB_STAR 0x600u
#define VMCB_KERNEL_GS_BASE 0x620u
#define VMCB_SYSENTER_CS 0x628u
#define VMCB_CR2 0x640u
#define VMCB_PAT 0x668u

/* ---- exit codes: the lower 32 bits are enough (an emulator leaves the upper ones 0) ---- */
#define SVM_EXIT_CR4_WRITE 0x14u
#define SVM_EXIT_READ_DR0 0x20u
#define SVM_EXIT_WRITE_DR0 0x30u
#define SVM_EXIT_WRITE_DR15 0x3fu
#define SVM_EXIT_EXCEPTION 0x40u /* + vector */
#define EXCEPTION_DEBUG 1u
#define EXCEPTION_ALIGNMENT 17u
#define EXCEPTION_MACHINE_CHECK 18u
#define SVM_EXIT_INTR 0x60u
#define SVM_EXIT_NMI 0x61u
#define SVM_EXIT_SMI 0x62u
#define SVM_EXIT_INIT 0x63u
#define SVM_EXIT_VINTR 0x64u
#define SVM_EXIT_CR0_SELECTED 0x65u
#define SVM_EXIT_RDPMC 0x6fu
#define SVM_EXIT_CPUID 0x72u
#define SVM_EXIT_INVD 0x76u
#define SVM_EXIT_HLT 0x78u
#define SVM_EXIT_INVLPGA 0x7au
#define SVM_EXIT_IOIO 0x7bu
#define SVM_EXIT_MSR 0x7cu
#define SVM_EXIT_SHUTDOWN 0x7fu
#define SVM_EXIT_VMRUN 0x80u
#define SVM_EXIT_VMMCALL 0x81u
#define SVM_EXIT_SKINIT 0x86u
#define SVM_EXIT_WBINVD 0x89u
#define SVM_EXIT_MONITOR 0x8au
#define SVM_EXIT_MWAIT 0x8bu
#define SVM_EXIT_MWAIT_ARMED 0x8cu
#define SVM_EXIT_XSETBV 0x8du
#define SVM_EXIT_RDPRU 0x8eu
#define SVM_EXIT_NPF 0x400u
#define SVM_EXIT_INVALID 0xffffffffu

#define NPF_WRITE (1ul << 1)
#define NPF_FETCH (1ul << 4)
#define NPF_TABLE_WALK (1ul << 33)
#define IOIO_IN (1ul << 0)
#define IOIO_STRING (1ul << 2)
#define IOIO_REP (1ul << 3)

#endif
