/* What the files of the syscall layer use of each other. No other layer includes this.
 *
 * Each syscall_<name> runs the call of that name for the current thread, whose id it gets, and returns its status;
 * results it stores in the saved registers itself. Those that return nothing store the status too, because a peer may
 * store it while the thread is blocked. No lock is held on entry or exit. */
#ifndef ASHLAR_SYSCALL_PARTS_H
#define ASHLAR_SYSCALL_PARTS_H

#include <stdint.h>

/* 1 if the slot in the thread's saved rdi holds a grant of this kind with all of these rights, else 0. */
uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights);

/* Object of that slot. Requires: syscall_slot_valid returned 1. */
uint32_t syscall_object(uint32_t current);

/* Checks the slot and length of a message call: the slot must hold an endpoint with this right, the length stands in
 * the saved rsi. Returns STATUS_OK, ERR_BAD_SLOT, ERR_BAD_ARGUMENT. */
uint32_t syscall_message_valid(uint32_t current, uint32_t right);

/* The badge of the caller's slot. Requires: syscall_slot_valid returned 1. */
uint64_t syscall_badge(uint32_t current);

/* STATUS_RESTART if an interrupt waits, else STATUS_OK. For long calls that have more to do: told to restart, they leave. */
uint32_t syscall_preemption(void);

/* All calls but the two on the fast path. Returns as syscall_dispatch. */
uint32_t syscall_dispatch_other(uint32_t current, uint64_t number);

void syscall_wait(uint32_t current);
uint32_t syscall_signal(uint32_t current);
uint32_t syscall_poll(uint32_t current);
uint32_t syscall_buffer_insert(uint32_t current);
uint32_t syscall_buffer_remove(uint32_t current);

uint32_t syscall_sleep(uint32_t current);
uint32_t syscall_clock(uint32_t current);

uint32_t syscall_mem_map(uint32_t current);
uint32_t syscall_mem_unmap(uint32_t current);
uint32_t syscall_share_offer(uint32_t current);
uint32_t syscall_share_accept(uint32_t current);
uint32_t syscall_share_withdraw(uint32_t current);
uint32_t syscall_quota(uint32_t current);

uint32_t syscall_thread_start(uint32_t current);
uint32_t syscall_process_create(uint32_t current);
uint32_t syscall_process_copy(uint32_t current);
uint32_t syscall_process_start(uint32_t current);
uint32_t syscall_process_kill(uint32_t current);
uint32_t syscall_process_status(uint32_t current);
uint32_t syscall_process_exit(uint32_t current);

uint32_t syscall_irq_ack(uint32_t current);
uint32_t syscall_device_map(uint32_t current);
uint32_t syscall_port_in(uint32_t current);
uint32_t syscall_port_out(uint32_t current);
uint32_t syscall_dma_address(uint32_t current);
uint32_t syscall_console_write(uint32_t current);
uint32_t syscall_console_read(uint32_t current);
uint32_t syscall_power_off(uint32_t current);

uint32_t syscall_vm_map(uint32_t current);
uint32_t syscall_vm_unmap(uint32_t current);
uint32_t syscall_vcpu_page(uint32_t current);
uint32_t syscall_vcpu_run(uint32_t current);

uint32_t syscall_check(uint32_t current);

#endif
