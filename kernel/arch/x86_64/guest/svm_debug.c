/* Debug registers of guests. DR6 and DR7 are switched with the control block; DR0 to DR3 are not, so a guest's accesses exit
 * until it uses one, and then, or as soon as its DR7 turns a breakpoint on, the registers are loaded and the guest has them
 * until its monitor runs. They are zero outside, and DR7 turns all off there: no guest sees or meets those of another.
 *
 * QEMU's TCG (7.2, and others) keeps a guest's breakpoints on its own list, from which an exit does not take them: they would
 * strike in the kernel, which does not survive that, and in programs. So on TCG the guest's values never reach the
 * processor: each access exits to the monitor, and no breakpoint strikes. */
#include "abi.h"
#include "arch.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define DR_ALL 0xffffffffu
#define DR6_ALWAYS 0xffff0ff0ul
#define DR6_SET 0xfffful
#define DR7_ALWAYS 0x400ul
#define DR7_SET 0xfffffffful
#define DR7_ENABLED 0xfful /* of the four breakpoints, local and global */

void svm_debug_reset(uint32_t vm)
{
    for (uint32_t i = 0; i < 4; i++) {
        svm_guest[vm].dr[i] = 0;
    }
    svm_guest[vm].dr7 = DR7_ALWAYS;
    svm_guest[vm].dr_loaded = 0;
    vmcb_set(vm, VMCB_DR6, DR6_ALWAYS);
    vmcb_set(vm, VMCB_DR7, DR7_ALWAYS);
    vmcb_set32(vm, VMCB_INTERCEPT_DR, DR_ALL);
}

void svm_debug_import(uint32_t vm, uint32_t frame)
{
    for (uint32_t i = 0; i < 4; i++) {
        svm_guest[vm].dr[i] = arch_frame_read(frame, VCPU_DR0 + i);
    }
    svm_guest[vm].dr7 = (arch_frame_read(frame, VCPU_DR7) & DR7_SET) | DR7_ALWAYS;
    vmcb_set(vm, VMCB_DR6, (arch_frame_read(frame, VCPU_DR6) & DR6_SET) | DR6_ALWAYS);
    vmcb_set(vm, VMCB_DR7, svm_on_tcg ? DR7_ALWAYS : svm_guest[vm].dr7);
}

void svm_debug_export(uint32_t vm, uint64_t *page)
{
    for (uint32_t i = 0; i < 4; i++) {
        page[VCPU_DR0 + i] = svm_guest[vm].dr[i];
    }
    page[VCPU_DR6] = vmcb_get(vm, VMCB_DR6);
    page[VCPU_DR7] = svm_guest[vm].dr7;
}

static void load(uint32_t vm)
{
    if (!svm_guest[vm].dr_loaded) {
        guest_debug_write(svm_guest[vm].dr);
        svm_guest[vm].dr_loaded = 1;
        vmcb_set32(vm, VMCB_INTERCEPT_DR, 0);
    }
}

void svm_debug_enter(uint32_t vm)
{
    if (vmcb_get(vm, VMCB_DR7) & DR7_ENABLED) {
        load(vm);
    }
}

uint32_t svm_debug_handle(uint32_t vm)
{
    if (svm_on_tcg) {
        return 0;
    }
    load(vm);
    return 1;
}

void svm_debug_leave(uint32_t vm)
{
    static const uint64_t none[4];
    if (!svm_guest[vm].dr_loaded) {
        return;
    }
    guest_debug_read(svm_guest[vm].dr);
    guest_debug_write(none);
    svm_guest[vm].dr7 = vmcb_get(vm, VMCB_DR7);
    svm_guest[vm].dr_loaded = 0;
    vmcb_set32(vm, VMCB_INTERCEPT_DR, DR_ALL);
}
