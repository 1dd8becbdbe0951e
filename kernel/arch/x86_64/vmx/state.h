/* The guest's state as a list of fields of the control structure, in groups that are written together. */
#ifndef ASHLAR_VMX_STATE_H
#define ASHLAR_VMX_STATE_H

/* ---- group RUN: read and written at each entry ---- */
#define VMX_RSP 0u
#define VMX_RIP 1u
#define VMX_RFLAGS 2u
#define VMX_INTERRUPTIBILITY 3u
#define VMX_PENDING_DEBUG 4u
/* ---- group CONTROL ---- */
#define VMX_CR0 5u
#define VMX_CR3 6u
#define VMX_CR4 7u
#define VMX_EFER 8u
#define VMX_PAT 9u
#define VMX_PDPTE 10u /* to 13 */
#define VMX_CR0_SHADOW 14u
#define VMX_CR4_SHADOW 15u
/* ---- group DEBUG ---- */
#define VMX_DR7 16u
/* ---- group SEGMENTS: es cs ss ds fs gs ldtr tr, of each four ---- */
#define VMX_SELECTOR 17u
#define VMX_LIMIT 25u
#define VMX_ACCESS 33u
#define VMX_BASE 41u
#define VMX_GDTR_LIMIT 49u
#define VMX_IDTR_LIMIT 50u
#define VMX_GDTR_BASE 51u
#define VMX_IDTR_BASE 52u
/* ---- group MSRS ---- */
#define VMX_SYSENTER_CS 53u
#define VMX_SYSENTER_ESP 54u
#define VMX_SYSENTER_EIP 55u
/* ---- group TSC: never changed by the guest ---- */
#define VMX_TSC_OFFSET 56u
#define VMX_NUM_FIELD 57u

#define VMX_GROUP_CONTROL 1u
#define VMX_GROUP_DEBUG 2u
#define VMX_GROUP_SEGMENTS 4u
#define VMX_GROUP_MSRS 8u
#define VMX_GROUP_TSC 16u
#define VMX_GROUP_ALL 31u
#define VMX_RUN_END VMX_CR0
#define VMX_CONTROL_END VMX_DR7
#define VMX_DEBUG_END VMX_SELECTOR
#define VMX_SEGMENTS_END VMX_SYSENTER_CS
#define VMX_MSRS_END VMX_TSC_OFFSET

/* The field's encoding. */
#include <stdint.h>
extern const uint32_t vmx_encoding[VMX_NUM_FIELD];

/* Bits of CR0 and CR4 that are not the guest's to set in the processor. NE and VMXE must be set in VMX operation; CD and NW
 * would stay set in the host; MCE: a machine check is the host's; what CR4 has beyond the bits that guests know is refused. */
#define CR0_NE 0x20ul
#define CR0_NW 0x20000000ul
#define CR0_CD 0x40000000ul
#define CR0_PE 0x1ul
#define CR0_PG 0x80000000ul
#define CR0_MASK (CR0_NE | CR0_NW | CR0_CD)
#define CR0_FORCED CR0_NE
#define CR4_MCE 0x40ul
#define CR4_PAE 0x20ul
#define CR4_VMXE 0x2000ul
#define CR4_GUEST 0x370ffful /* VME to UMIP, but LA57, VMXE, SMXE; FSGSBASE PCIDE OSXSAVE SMEP SMAP */
#define CR4_MASK (~(CR4_GUEST & ~CR4_MCE))
#define CR4_FORCED (CR4_MCE | CR4_VMXE)

#define EFER_LME 0x100ul
#define EFER_LMA 0x400ul
#define GUEST_EFER 0xd01ul /* SCE LME LMA NXE */
#define FLAGS_ALWAYS 0x2ul
#define FLAGS_DEFINED 0x3f7fd7ul
#define FLAGS_TRAP 0x100ul
#define FLAGS_INTERRUPT 0x200ul
#define FLAGS_VIRTUAL_8086 0x20000ul

#define GPR_RAX 0u
#define GPR_RCX 1u
#define GPR_RDX 2u
#define GPR_RBX 3u
#define GPR_RSP 4u

#endif
