/* Which field of a guest's state an entry cannot have: the manual's rules for VM entries (volume 3, "checks on the guest state
 * area") in its order, as far as a monitor can break them. Asked only after the processor has refused the state. */
#include "abi.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define CS 1u
#define SS 2u
#define LDTR 6u
#define TR 7u
#define UPPER_HALF 0xffffffff00000000ul
#define ACCESS_RESERVED 0xfffe0f00ul
#define PCIDE 0x20000ul
#define TYPE_CODE 8ul
#define TYPE_CONFORMING 4ul
#define TYPE_READABLE 2ul

static uint32_t canonical(uint64_t address)
{
    uint64_t upper = address >> 47;
    return upper == 0 || upper == 0x1ffff;
}

static uint32_t wrong_pat(uint64_t pat)
{
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t type = pat >> (8 * i) & 0xff;
        if (type > 7 || type == 2 || type == 3) {
            return 1;
        }
    }
    return 0;
}

static uint32_t wrong_control(const uint64_t *field)
{
    uint64_t cr0 = field[VMX_CR0], cr4 = field[VMX_CR4], efer = field[VMX_EFER];
    if ((cr0 & UPPER_HALF) != 0 || ((cr0 & CR0_PG) && !(cr0 & CR0_PE))) {
        return VMCS_GUEST_CR0;
    }
    if ((cr4 & UPPER_HALF) != 0 || (cr4 & ~(CR4_GUEST | CR4_FORCED)) != 0) {
        return VMCS_GUEST_CR4;
    }
    if ((efer & EFER_LMA) ? !(cr4 & CR4_PAE) : (cr4 & PCIDE) != 0) {
        return VMCS_GUEST_CR4;
    }
    if (field[VMX_CR3] >> 52 != 0) {
        return VMCS_GUEST_CR3;
    }
    if (field[VMX_DR7] & UPPER_HALF) {
        return VMCS_GUEST_DR7;
    }
    if (!canonical(field[VMX_SYSENTER_ESP])) {
        return VMCS_GUEST_SYSENTER_ESP;
    }
    if (!canonical(field[VMX_SYSENTER_EIP])) {
        return VMCS_GUEST_SYSENTER_EIP;
    }
    return wrong_pat(field[VMX_PAT]) ? VMCS_GUEST_PAT : 0;
}

static uint32_t wrong_base(const uint64_t *field, uint32_t i)
{
    uint64_t base = field[VMX_BASE + i];
    uint32_t usable = (field[VMX_ACCESS + i] & ACCESS_UNUSABLE) == 0;
    if (field[VMX_RFLAGS] & FLAGS_VIRTUAL_8086) {
        return i < LDTR && base != field[VMX_SELECTOR + i] << 4;
    }
    if (i == CS) {
        return (base & UPPER_HALF) != 0;
    }
    if (i < 4) {
        return usable && (base & UPPER_HALF) != 0;
    }
    return (usable || i != LDTR) && !canonical(base);
}

static uint32_t wrong_limit(const uint64_t *field, uint32_t i)
{
    uint64_t access = field[VMX_ACCESS + i], limit = field[VMX_LIMIT + i];
    if ((field[VMX_RFLAGS] & FLAGS_VIRTUAL_8086) && i < LDTR) {
        return limit != 0xffff;
    }
    return (access & ACCESS_UNUSABLE) == 0 && (limit >> 20) != 0 && (limit & 0xfff) != 0xfff;
}

static uint32_t wrong_code(const uint64_t *field)
{
    uint64_t access = field[VMX_ACCESS + CS], type = access & ACCESS_TYPE;
    uint64_t dpl = access >> ACCESS_DPL_SHIFT & 3, level = field[VMX_ACCESS + SS] >> ACCESS_DPL_SHIFT & 3;
    if ((access & ACCESS_UNUSABLE) || !(access & ACCESS_SYSTEM_SEGMENT) || !(access & ACCESS_PRESENT)) {
        return 1;
    }
    if (type != 3 && (type & (TYPE_CODE | ACCESS_ACCESSED)) != (TYPE_CODE | ACCESS_ACCESSED)) {
        return 1;
    }
    if (type == 3 ? dpl != 0 : (type & TYPE_CONFORMING) ? dpl > level : dpl != level) {
        return 1;
    }
    return (field[VMX_EFER] & EFER_LMA) && (access & ACCESS_LONG) && (access & ACCESS_DEFAULT_SIZE);
}

static uint32_t wrong_stack(const uint64_t *field)
{
    uint64_t access = field[VMX_ACCESS + SS], type = access & ACCESS_TYPE;
    uint64_t level = access >> ACCESS_DPL_SHIFT & 3;
    if ((!(field[VMX_CR0] & CR0_PE) || (field[VMX_ACCESS + CS] & ACCESS_TYPE) == 3) && level != 0) {
        return 1;
    }
    return (access & ACCESS_UNUSABLE) == 0 && (type != 3 && type != 7 ? 1 : !(access & ACCESS_SYSTEM_SEGMENT));
}

static uint32_t wrong_access(const uint64_t *field, uint32_t i)
{
    uint64_t access = field[VMX_ACCESS + i], type = access & ACCESS_TYPE;
    if ((field[VMX_RFLAGS] & FLAGS_VIRTUAL_8086) && i < LDTR) {
        return access != 0xf3;
    }
    if (i == CS) {
        return wrong_code(field) || (access & ACCESS_RESERVED) != 0;
    }
    if (i == SS) {
        return wrong_stack(field) || ((access & ACCESS_UNUSABLE) == 0 && (access & ACCESS_RESERVED) != 0);
    }
    if (i == TR) {
        uint32_t known = type == 11 || (type == 3 && !(field[VMX_EFER] & EFER_LMA));
        return (access & ACCESS_UNUSABLE) || !known || (access & ACCESS_SYSTEM_SEGMENT) || !(access & ACCESS_PRESENT);
    }
    if (access & ACCESS_UNUSABLE) {
        return 0;
    }
    if (i == LDTR) {
        return type != 2 || (access & ACCESS_SYSTEM_SEGMENT);
    }
    return !(access & ACCESS_SYSTEM_SEGMENT) || !(type & ACCESS_ACCESSED) ||
           ((type & TYPE_CODE) && !(type & TYPE_READABLE));
}

static uint32_t wrong_segment(const uint64_t *field, uint32_t i)
{
    if (wrong_base(field, i)) {
        return VMCS_GUEST_BASE + 2 * i;
    }
    if (wrong_limit(field, i)) {
        return VMCS_GUEST_LIMIT + 2 * i;
    }
    return wrong_access(field, i) ? VMCS_GUEST_ACCESS + 2 * i : 0;
}

static uint32_t wrong_run(const uint64_t *field, uint64_t event)
{
    uint64_t blocked = field[VMX_INTERRUPTIBILITY] & (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS);
    uint64_t type = (event >> EVENT_TYPE_SHIFT) & 7;
    uint32_t wide = (field[VMX_EFER] & EFER_LMA) && (field[VMX_ACCESS + CS] & ACCESS_LONG);
    if (wide ? !canonical(field[VMX_RIP]) : (field[VMX_RIP] & UPPER_HALF) != 0) {
        return VMCS_GUEST_RIP;
    }
    if ((field[VMX_RFLAGS] & FLAGS_VIRTUAL_8086) && ((field[VMX_EFER] & EFER_LMA) || !(field[VMX_CR0] & CR0_PE))) {
        return VMCS_GUEST_RFLAGS;
    }
    if ((event & EVENT_VALID) && type == EVENT_TYPE_EXTERNAL && !(field[VMX_RFLAGS] & FLAGS_INTERRUPT)) {
        return VMCS_GUEST_RFLAGS;
    }
    if ((event & EVENT_VALID) && type != EVENT_TYPE_EXCEPTION && blocked != 0) {
        return VMCS_GUEST_INTERRUPTIBILITY;
    }
    return 0;
}

uint32_t vmx_wrong_field(uint32_t vm)
{
    const uint64_t *field = vmx_guest[vm].field;
    uint32_t wrong = wrong_control(field);
    for (uint32_t i = 0; i < 8 && wrong == 0; i++) {
        wrong = wrong_segment(field, i);
    }
    if (wrong == 0 && !canonical(field[VMX_GDTR_BASE])) {
        wrong = VMCS_GUEST_BASE + 16;
    }
    if (wrong == 0 && !canonical(field[VMX_IDTR_BASE])) {
        wrong = VMCS_GUEST_BASE + 18;
    }
    return wrong != 0 ? wrong : wrong_run(field, vmx_guest[vm].event);
}
