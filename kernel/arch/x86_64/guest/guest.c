/* The guest primitives of arch.h, on AMD SVM with nested paging or Intel VT-x with EPT. The first CPU chooses at start-up; the
 * choice is a variable and a branch, since a call by pointer is what programs train processors to mispredict. */
#include "guest/guest.h"

#include "arch.h"
#include "cpu/cpu.h"
#include "guest/svm.h"
#include "thread/fpu.h"
#include "vmx/vmx.h"

static uint32_t supported;
static uint32_t on_vmx; /* constant after start-up */
static const char *missing;

#define CPUID_VMX (1u << 5) /* leaf 1, ecx */

void guest_init_cpu(void)
{
    uint32_t first = arch_cpu() == 0;
    if ((cpuid(1, 0).ecx & CPUID_VMX) == 0) {
        uint32_t found = svm_init_cpu();
        if (first) {
            supported = found;
            missing = "AMD SVM with nested paging or Intel VT-x with EPT";
        }
        return;
    }
    const char *lacks = vmx_init_cpu();
    if (first) {
        on_vmx = 1;
        supported = 1;
    }
    if (lacks != 0) { /* every CPU may be asked to run a guest */
        supported = 0;
        missing = lacks;
    }
}

const char *guest_missing(void)
{
    return supported ? 0 : missing;
}

uint32_t arch_vm_supported(void)
{
    return supported;
}

uint64_t arch_nested_entry(uint32_t frame, uint32_t prot)
{
    return on_vmx ? ept_entry(frame, prot) : svm_nested_entry(frame, prot);
}

uint64_t arch_nested_table(uint32_t frame)
{
    return on_vmx ? ept_table(frame) : svm_nested_table(frame);
}

/* The same in both formats. */
uint32_t arch_nested_frame(uint64_t entry)
{
    return (uint32_t)((entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT);
}

void arch_vcpu_init(uint32_t vm)
{
    if (on_vmx) {
        vmx_vcpu_init(vm);
    } else {
        svm_vcpu_init(vm);
    }
}

uint32_t arch_vcpu_import_part(uint32_t vm, uint32_t frame)
{
    return on_vmx ? vmx_vcpu_import_part(vm, frame) : svm_vcpu_import_part(vm, frame);
}

uint32_t arch_vcpu_import(uint32_t vm, uint32_t frame)
{
    return on_vmx ? vmx_vcpu_import(vm, frame) : svm_vcpu_import(vm, frame);
}

void arch_vcpu_export(uint32_t vm, uint32_t frame)
{
    if (on_vmx) {
        vmx_vcpu_export(vm, frame);
    } else {
        svm_vcpu_export(vm, frame);
    }
}

uint32_t arch_vcpu_load_part(uint32_t vm)
{
    uint32_t loaded = fpu_enter_guest(vm);
    if (loaded == 0 && on_vmx) {
        loaded = vmx_vcpu_load_part(vm);
    }
    return loaded;
}

uint32_t arch_vcpu_report_part(uint32_t vm)
{
    return on_vmx ? vmx_vcpu_report_part(vm) : svm_vcpu_report_part(vm);
}

uint32_t arch_vcpu_enter(uint32_t vm, uint32_t nested_root)
{
    return on_vmx ? vmx_vcpu_enter(vm, nested_root) : svm_vcpu_enter(vm, nested_root);
}

void arch_vcpu_flush(uint32_t vm)
{
    if (on_vmx) {
        vmx_vcpu_flush(vm);
    } else {
        svm_vcpu_flush(vm);
    }
}
