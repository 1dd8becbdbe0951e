/* Functions of arch that other primitives call, and objects that several contracts read. */
#ifndef ASHLAR_PROOF_ARCH_PARTS_H
#define ASHLAR_PROOF_ARCH_PARTS_H

#include <stdint.h>

uint32_t apic_read(uint32_t reg);
void apic_write(uint32_t reg, uint32_t value);
void apic_command(uint32_t destination, uint32_t value);
uint32_t ioapic_read(uint32_t reg);
void ioapic_write(uint32_t reg, uint32_t value);
uint32_t vtd_read32(uint64_t base, uint32_t reg);
uint64_t vtd_read64(uint64_t base, uint32_t reg);
void vtd_write32(uint64_t base, uint32_t reg, uint32_t value);
void vtd_write64(uint64_t base, uint32_t reg, uint64_t value);
uint64_t amdvi_read(uint64_t base, uint32_t reg);
void amdvi_write(uint64_t base, uint32_t reg, uint64_t value);
void mitigations_forget_space(void);
uint32_t mitigations_leave(void);
uint32_t mitigations_chosen(void);
uint32_t mitigations_before_guest(void);
uint32_t guest_on_vmx(void);
void svm_enter(uint64_t block, uint32_t vm, uint64_t host);
uint32_t vmx_enter(uint32_t vm, uint32_t launched);
void arch_syscall_entry(void);
void arch_user_return(void);
void arch_thread_start(void);
void arch_vector_stubs(uint32_t vector, uint32_t from_user);
void arch_nmi_entry(uint32_t vector);
void arch_ignore_entry(void);
void arch_fatal_entry(uint32_t vector);
void arch_run_on_stack(uint64_t stack, uint64_t function);

/* ---- threads' records (entry.c) ---- */
uint32_t thread_fpu_fresh(uint32_t thread);
void thread_set_fpu_fresh(uint32_t thread, uint32_t fresh);

/* ---- this CPU's record (processor.c) ---- */
void cpu_set_current(uint32_t thread);
void cpu_set_fpu_left(uint32_t left);
uint32_t cpu_fpu_owner(void);
void cpu_set_fpu_owner(uint32_t owner);
uint32_t cpu_space(void);
void cpu_set_space(uint32_t root);
void cpu_set_scratch(uint64_t value);
void cpu_set_vector(uint32_t vector);

/* ---- the layer trap ---- */
void trap_syscall(uint64_t first, uint64_t second);
void trap_exception(void);
void trap_interrupt(uint32_t vector);
void trap_leave(void);
void trap_end(void);

/* ---- the machine as its tables describe it (platform.c) ---- */
uint64_t platform_io_apic(void);
uint32_t platform_isa_line(uint32_t line);
uint32_t platform_local_apic_low(void);
uint32_t platform_iommu_is_amd(void);
uint32_t platform_iommu_count(void);
uint32_t platform_io_apic_functions(void);
uint32_t platform_io_apic_function(uint32_t number);
uint32_t platform_pin_flags(uint32_t pin);
uint32_t platform_pm1a_control(void);
uint32_t platform_pm1b_control(void);
uint32_t platform_sleep_type_a(void);
uint32_t platform_sleep_type_b(void);

/* ---- IOMMUs (iommu.c, iommu_units.c) ---- */
uint32_t iommu_replaces(void);
uint32_t iommu_await(uint64_t word, uint32_t mask, uint32_t expected);
void iommu_flush_line(uint64_t address);
uint64_t iommu_message_address(uint32_t vector, uint32_t id, uint32_t function);
uint32_t iommu_route(uint32_t vector, uint32_t id, uint32_t is_level);
void iommu_fatal(void); /* does not return */

/* ---- of each CPU (interrupt.c) ---- */
uint32_t apic_id_of(uint32_t cpu);

#endif
