/* Inlining of the message fast path: everything that trap_syscall calls is inlined into it, except the functions
 * below, which are slow paths. So the fast path is straight code that saves few registers. The build includes this
 * header before every kernel source. */
#ifndef ASHLAR_X86_64_INLINING_H
#define ASHLAR_X86_64_INLINING_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline))

void trap_syscall(uint64_t first, uint64_t second) __attribute__((flatten));

NOINLINE void trap_serve_waiting(void);
NOINLINE void trap_continue(uint32_t current);
NOINLINE void trap_reschedule(void);
NOINLINE void trap_settle(void);
NOINLINE uint32_t trap_end_step(uint32_t step, uint32_t current, uint32_t p);
NOINLINE void trap_idle_serve(void);
NOINLINE void trap_idle_settle(void);
/* By these names kernel/timing.toml tells the timing analysis where the kernel has preemption points, accesses
 * devices, waits for other CPUs, and makes threads ready. */
#define NOINLINE_NOCLONE __attribute__((noinline, noclone))
NOINLINE_NOCLONE uint32_t arch_interrupt_pending(void);
NOINLINE_NOCLONE uint32_t apic_read(uint32_t reg);
NOINLINE_NOCLONE void apic_write(uint32_t reg, uint32_t value);
NOINLINE_NOCLONE void apic_command(uint32_t destination, uint32_t value);
NOINLINE_NOCLONE uint32_t ioapic_read(uint32_t reg);
NOINLINE_NOCLONE void ioapic_write(uint32_t reg, uint32_t value);
NOINLINE_NOCLONE uint32_t vtd_read32(uint64_t base, uint32_t reg);
NOINLINE_NOCLONE uint64_t vtd_read64(uint64_t base, uint32_t reg);
NOINLINE_NOCLONE void vtd_write32(uint64_t base, uint32_t reg, uint32_t value);
NOINLINE_NOCLONE void vtd_write64(uint64_t base, uint32_t reg, uint64_t value);
NOINLINE_NOCLONE uint64_t amdvi_read(uint64_t base, uint32_t reg);
NOINLINE_NOCLONE void amdvi_write(uint64_t base, uint32_t reg, uint64_t value);
NOINLINE_NOCLONE uint32_t iommu_await(const volatile uint32_t *word, uint32_t mask, uint32_t expected);
NOINLINE_NOCLONE void iommu_fatal(void);
NOINLINE_NOCLONE void console_drain(void);
NOINLINE_NOCLONE void sched_ready_insert(uint32_t cpu, uint32_t t);
NOINLINE_NOCLONE void sched_budget_park(uint32_t cpu, uint32_t t);
NOINLINE_NOCLONE uint32_t sched_woken(void);
NOINLINE_NOCLONE void trap_vector_of_cpu(uint32_t vector);
NOINLINE_NOCLONE void sched_hand_over_to(uint32_t next);
#undef NOINLINE_NOCLONE

/* Services of interrupts, and what they share: so machine code is validated function by function. */
NOINLINE uint32_t console_next_byte(void);
NOINLINE void process_serve_requests(void);
NOINLINE void iommu_take_faults(void);
NOINLINE void trap_timer(void);

NOINLINE uint32_t syscall_leave_unit(uint32_t current);
NOINLINE uint32_t syscall_dispatch_other(uint32_t current, uint64_t number);
/* They loop over steps, and would take the dispatcher's registers. */
NOINLINE uint32_t syscall_thread_start(uint32_t current);
NOINLINE uint32_t syscall_mem_map(uint32_t current);
NOINLINE uint32_t syscall_share_accept(uint32_t current);
NOINLINE uint32_t syscall_process_copy(uint32_t current);
NOINLINE uint32_t syscall_device_map(uint32_t current);
NOINLINE uint32_t syscall_vcpu_page(uint32_t current);

/* Steps of these loops and of the creation of a process. */
NOINLINE void process_begin_items(uint32_t p);
NOINLINE void process_begin_item(uint32_t p, uint32_t stage);
NOINLINE uint32_t process_copy_begin(uint32_t child);
NOINLINE uint32_t process_copy_step(uint32_t child, uint64_t to, uint32_t p, uint64_t from, uint32_t prot);
NOINLINE uint32_t process_accept_page(uint32_t p, uint32_t s, uint64_t vaddr, uint32_t prot);
NOINLINE uint32_t process_start_thread(uint32_t index, uint64_t entry, uint64_t stack, uint64_t argument);
NOINLINE uint32_t pagemap_prepare(uint32_t p, uint64_t vaddr);

NOINLINE void endpoint_copy(uint32_t to, uint32_t from, uint32_t n);
NOINLINE void endpoint_deliver_fault(uint32_t to, uint32_t from);
NOINLINE void endpoint_answer_fault(uint32_t current, uint32_t c, uint32_t n);
NOINLINE void endpoint_wait_to_send(uint32_t e, uint32_t current, uint32_t kind, uint64_t badge, uint32_t n);
NOINLINE uint32_t endpoint_take(uint32_t current, uint32_t s);
NOINLINE uint32_t endpoint_dequeue_of_many(uint32_t e);
NOINLINE uint32_t endpoint_reply(uint32_t n);
NOINLINE void endpoint_receive(uint32_t e, uint32_t current);
NOINLINE void notify_next_waiter(uint32_t n);
NOINLINE void notify_keep(uint32_t n, uint64_t bits);
NOINLINE void notify_block_until(uint32_t current, uint64_t deadline);
NOINLINE uint32_t notify_watch(uint32_t n);
NOINLINE void notify_unwatch(uint32_t n);
NOINLINE uint32_t pagemap_map(uint32_t p, uint64_t vaddr, uint32_t frame, uint32_t prot, uint32_t kind);
NOINLINE uint32_t iommu_map(uint32_t p, uint64_t address, uint32_t frame, uint32_t prot);
NOINLINE uint32_t npt_prepare(uint32_t vm, uint64_t gpa, uint32_t p, uint32_t missing);
NOINLINE uint32_t npt_map(uint32_t vm, uint64_t gpa, uint32_t frame, uint32_t prot);
NOINLINE uint32_t arch_vcpu_import_part(uint32_t vm, uint32_t frame);
NOINLINE uint32_t vmx_wrong_field(uint32_t vm);
NOINLINE uint32_t process_create_steps(uint32_t p);
NOINLINE uint32_t process_copy_prepare(uint32_t p, uint64_t vaddr, uint32_t missing);
NOINLINE uint32_t process_unmap_page(uint32_t p, uint64_t vaddr);
NOINLINE void sched_begin_slice(uint32_t cpu);
NOINLINE void sched_switch_slowly(uint32_t t);
NOINLINE void sched_call_slowly(uint32_t t);
NOINLINE void sched_reply_slowly(uint32_t t);
NOINLINE void sched_decide(void);
NOINLINE uint32_t sched_budget_floor(uint32_t cpu, uint32_t t, uint32_t best);
NOINLINE void sched_drain_pending(void);
NOINLINE void sched_ready_remote(uint32_t t);
NOINLINE void sched_insert(uint32_t cpu, uint32_t t);
NOINLINE void tlb_await(uint32_t cpu, uint64_t ticket);
NOINLINE void spinlock_ticket_wait(uint32_t lock, uint64_t ticket);

/* Primitives of many instructions, or on objects of arch alone: the validation of machine code (`ashlar prove --binary`)
 * follows their callers up to the call. Those on the message fast path are inlined: it knows them by their instructions. */
NOINLINE void arch_frame_clear(uint32_t frame);
NOINLINE void arch_frame_copy_piece(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words);
NOINLINE void arch_timer_arm(uint64_t deadline_ns);
NOINLINE void arch_timer_stop(void);
NOINLINE uint32_t arch_serial_status(void);
NOINLINE void arch_serial_put(uint32_t byte);
NOINLINE uint32_t arch_serial_get(void);
NOINLINE void arch_serial_transmit_interrupt(uint32_t enable);
NOINLINE uint32_t arch_keyboard_get(void);
NOINLINE uint32_t arch_vm_supported(void);
NOINLINE void arch_vcpu_init(uint32_t vm);
NOINLINE void arch_vcpu_export(uint32_t vm, uint32_t frame);
NOINLINE uint32_t arch_vcpu_import(uint32_t vm, uint32_t frame);
NOINLINE void arch_vcpu_flush(uint32_t vm);
NOINLINE uint32_t arch_vcpu_load_part(uint32_t vm);
NOINLINE uint32_t arch_vcpu_report_part(uint32_t vm);
NOINLINE uint32_t arch_vcpu_enter(uint32_t vm, uint32_t nested_root);
NOINLINE void arch_thread_init(uint32_t thread);
NOINLINE void arch_fpu_use(void);
NOINLINE void arch_fpu_reset(uint32_t thread);
NOINLINE void arch_fpu_leave(void);
NOINLINE uint32_t arch_idle(void);
NOINLINE uint32_t arch_interrupt_poll(void);
NOINLINE void arch_line_unmask(uint32_t line);
NOINLINE void arch_line_mask(uint32_t line);
NOINLINE void arch_line_route(uint32_t line, uint32_t cpu, uint32_t flags);
NOINLINE void arch_message_route(uint32_t line, uint32_t function);
NOINLINE uint32_t arch_message_data(uint32_t line);
NOINLINE uint64_t arch_message_address(uint32_t line);
NOINLINE uint32_t arch_port_in(uint32_t port, uint32_t width);
NOINLINE void arch_port_out(uint32_t port, uint32_t width, uint32_t value);
NOINLINE uint32_t arch_iommu_levels(void);
NOINLINE uint64_t arch_iommu_leaf(uint32_t frame, uint32_t prot);
NOINLINE uint64_t arch_iommu_table(uint32_t frame, uint32_t level);
NOINLINE void arch_iommu_update(uint32_t unit, uint32_t function, uint32_t domain);
NOINLINE void arch_iommu_publish(uint32_t table, uint32_t part);
NOINLINE void arch_iommu_attach(uint32_t function, uint32_t domain, uint32_t root);
NOINLINE void arch_iommu_detach(uint32_t function);
NOINLINE uint32_t arch_iommu_units(void);
NOINLINE uint64_t arch_iommu_refused(void);
NOINLINE void arch_iommu_listen(uint32_t cpu, uint32_t vector);
NOINLINE uint32_t arch_iommu_fault(uint32_t unit);
NOINLINE uint64_t arch_iommu_fault_address(void);
NOINLINE uint32_t arch_iommu_caches_absent(void);
NOINLINE uint32_t arch_frame_limit(void);
NOINLINE uint32_t arch_loaded_root_of(uint32_t cpu);
NOINLINE uint32_t arch_current_of(uint32_t cpu);
NOINLINE void arch_page_map_load_kernel(void);
NOINLINE void arch_tlb_invalidate_user(void);
NOINLINE uint64_t arch_nested_table(uint32_t frame);
NOINLINE uint64_t arch_nested_entry(uint32_t frame, uint32_t prot);

#undef NOINLINE

#endif
