/* Debug registers of guests. DR7 is switched with the control structure; the others are not, so a guest's accesses exit until
 * it uses one, and then, or as soon as its DR7 turns a breakpoint on, the registers are loaded and the guest has them until
 * its run ends. They are as after a reset outside: no guest sees or meets those of another. */
#include "abi.h"
#include "arch.h"
#include "guest/guest.h"
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define DR6_ALWAYS 0xffff0ff0ul
#define DR6_SET 0xe00ful
#define DR6_BREAKPOINTS 0xful
#define DR6_RAISED 0x600ful /* breakpoints, access to a debug register, single step */
#define DR7_ALWAYS 0x400ul
#define DR7_SET 0xffff2bfful
#define DR7_GUARD 0x2000ul
#define DR7_ENABLED 0xfful /* of the four breakpoints, local and global */

void vmx_debug_reset(uint32_t vm)
{
    for (uint32_t i = 0; i < 4; i++) {
        vmx_guest[vm].dr[i] = 0;
    }
    vmx_guest[vm].dr6 = DR6_ALWAYS;
    vmx_guest[vm].field[VMX_DR7] = DR7_ALWAYS;
    vmx_guest[vm].dr_loaded = 0;
    vmx_guest[vm].changed |= VMX_GROUP_DEBUG;
}

void vmx_debug_import(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 4; i++) {
        vmx_guest[vm].dr[i] = arch_frame_read(frame, VCPU_DR0 + i);
    }
    vmx_guest[vm].dr6 = (arch_frame_read(frame, VCPU_DR6) & DR6_SET) | DR6_ALWAYS;
    vmx_guest[vm].field[VMX_DR7] = (arch_frame_read(frame, VCPU_DR7) & DR7_SET) | DR7_ALWAYS;
    vmx_guest[vm].changed |= VMX_GROUP_DEBUG;
}

void vmx_debug_export(uint32_t vm, uint64_t *page)
{
    for (uint32_t i = 0; i < 4; i++) {
        page[VCPU_DR0 + i] = vmx_guest[vm].dr[i];
    }
    page[VCPU_DR6] = vmx_guest[vm].dr6;
    page[VCPU_DR7] = vmx_guest[vm].field[VMX_DR7];
}

void vmx_debug_load(uint32_t vm)
{
    if (!vmx_guest[vm].dr_loaded) {
        guest_debug_write(vmx_guest[vm].dr);
        guest_debug_status_write(vmx_guest[vm].dr6);
        vmx_guest[vm].dr_loaded = 1;
    }
}

/* As long as they are not loaded the guest cannot have changed DR7. */
void vmx_debug_enter(uint32_t vm)
{
    if (vmx_guest[vm].field[VMX_DR7] & DR7_ENABLED) {
        vmx_debug_load(vm);
    }
}

/* The exit has left DR6 and DR7 as they were. Requires: the run has ended. */
void vmx_debug_raise(uint32_t vm, uint64_t qualification)
{
    vmx_guest[vm].dr6 = (vmx_guest[vm].dr6 & ~DR6_BREAKPOINTS) | (qualification & DR6_RAISED);
    vmx_guest[vm].field[VMX_DR7] &= ~DR7_GUARD;
    vmx_guest[vm].changed |= VMX_GROUP_DEBUG;
}

void vmx_debug_leave(uint32_t vm)
{
    static const uint64_t none[4];
    if (!vmx_guest[vm].dr_loaded) {
        return;
    }
    guest_debug_read(vmx_guest[vm].dr);
    vmx_guest[vm].dr6 = guest_debug_status_read();
    guest_debug_write(none);
    guest_debug_status_write(DR6_ALWAYS);
    vmx_guest[vm].dr_loaded = 0;
}
