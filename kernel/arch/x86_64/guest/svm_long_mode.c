/* Workaround for an emulator bug: when a guest exits with EFER.LME 1, CR0.PG 0 and CR4.PAE 0, QEMU's TCG (7.2, and
 * others) does not load the host's CR0, and the host crashes. Processors handle this state, which is legal.
 *
 * So on TCG a guest with LME set is kept from reaching this state: EFER writes exit anyway; while paging is on,
 * writes to CR0 exit, and are then made with writes to CR4 exiting instead; while it is off, writes to CR4 exit and
 * are refused. Guests set PAE before LME and clear it after, so only malicious guests notice. */
#include "cpu/cpu.h"
#include "guest/svm.h"
#include "guest/vmcb.h"

#define CR0_PG 0x80000000ul
#define CR4_PAE 0x20ul

uint32_t svm_long_mode_enterable(uint32_t vm)
{
    return !(svm_on_tcg && (vmcb_get(vm, VMCB_EFER) & EFER_LME) && !(vmcb_get(vm, VMCB_CR0) & CR0_PG) &&
             !(vmcb_get(vm, VMCB_CR4) & CR4_PAE));
}

void svm_long_mode_prepare(uint32_t vm)
{
    uint32_t first = vmcb_get32(vm, VMCB_INTERCEPT_1) & ~INTERCEPT_1_CR0_SELECTED;
    uint32_t control = 0;
    if (svm_on_tcg && (vmcb_get(vm, VMCB_EFER) & EFER_LME)) {
        if ((vmcb_get(vm, VMCB_CR0) & CR0_PG) && svm_guest[vm].cr0_write != CR0_WRITE_ONCE) {
            first |= INTERCEPT_1_CR0_SELECTED;
        } else {
            control = INTERCEPT_CR4_WRITE;
        }
    }
    svm_guest[vm].cr0_write = CR0_WRITE_WATCHED;
    vmcb_set32(vm, VMCB_INTERCEPT_1, first);
    vmcb_set32(vm, VMCB_INTERCEPT_CR, control);
}

uint32_t svm_long_mode_handle(uint32_t vm, uint32_t code)
{
    if (code == SVM_EXIT_CR0_SELECTED) {
        svm_guest[vm].cr0_write = CR0_WRITE_ONCE;
        return 1;
    }
    /* With paging on, the next entry intercepts CR0 instead and lets the write through. */
    return code == SVM_EXIT_CR4_WRITE && (vmcb_get(vm, VMCB_CR0) & CR0_PG);
}
