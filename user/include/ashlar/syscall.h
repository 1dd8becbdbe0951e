/* The system calls, one inline function each. kernel/abi.h gives numbers, registers and status codes;
 * kernel/syscalls.toml says what each call does. Every function returns a STATUS_* or ERR_* code; results are
 * stored through pointers only when that code is STATUS_OK. Times are nanoseconds since boot. */
#ifndef ASHLAR_SYSCALL_H
#define ASHLAR_SYSCALL_H

#include <stdint.h>

#include "abi.h"

#define NO_SLOT 0xffffffffu          /* "no such slot" of the env_* look-ups, and "no notification" of vcpu_run */
#define PAGE_SIZE 4096ul
#define DEADLINE_NEVER (~0ul)

struct sys_result {
    uint64_t status;
    uint64_t first;                  /* rdi */
    uint64_t second;                 /* rsi */
};

/* The kernel's calling convention for everything but messages: two arguments, three words. */
static inline struct sys_result sys_raw(uint64_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2)
{
    register uint64_t r10 __asm__("r10") = w1;
    register uint64_t r8 __asm__("r8") = w2;
    __asm__ volatile("syscall"
                     : "+a"(number), "+D"(a), "+S"(b), "+d"(w0), "+r"(r10), "+r"(r8)
                     :
                     : "rcx", "r11", "memory");
    return (struct sys_result){number, a, b};
}

static inline uint32_t sys_plain(uint64_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2)
{
    return (uint32_t)sys_raw(number, a, b, w0, w1, w2).status;
}

static inline uint32_t sys_null(void)
{
    return sys_plain(SYS_NULL, 0, 0, 0, 0, 0);
}

/* ---- notifications ---- */
static inline uint32_t sys_signal(uint32_t slot)
{
    return sys_plain(SYS_SIGNAL, slot, 0, 0, 0, 0);
}

/* Waits until a bit is set or the deadline passes (ERR_TIMEOUT); takes all bits. */
static inline uint32_t sys_wait(uint32_t slot, uint64_t deadline, uint64_t *bits)
{
    struct sys_result r = sys_raw(SYS_WAIT, slot, deadline, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *bits = r.first;
    }
    return (uint32_t)r.status;
}

/* The same, but signals the notification in slot `signal` before, in one call. */
static inline uint32_t sys_signal_wait(uint32_t signal, uint32_t slot, uint64_t deadline, uint64_t *bits)
{
    struct sys_result r = sys_raw(SYS_WAIT, slot, deadline, signal + 1ul, 0, 0);
    if (r.status == STATUS_OK) {
        *bits = r.first;
    }
    return (uint32_t)r.status;
}

/* Takes the bits that are set now, without waiting. */
static inline uint32_t sys_poll(uint32_t slot, uint64_t *bits)
{
    struct sys_result r = sys_raw(SYS_POLL, slot, 0, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *bits = r.first;
    }
    return (uint32_t)r.status;
}

/* ---- time and threads ---- */
static inline uint32_t sys_yield(void)
{
    return sys_plain(SYS_YIELD, 0, 0, 0, 0, 0);
}

static inline uint32_t sys_sleep(uint64_t deadline)
{
    return sys_plain(SYS_SLEEP, deadline, 0, 0, 0, 0);
}

static inline uint64_t sys_clock(void)
{
    return sys_raw(SYS_CLOCK, 0, 0, 0, 0, 0).first;
}

static inline uint32_t sys_thread_start(uint32_t thread, uint64_t entry, uint64_t stack, uint64_t argument)
{
    return sys_plain(SYS_THREAD_START, thread, entry, stack, argument, 0);
}

static inline _Noreturn void sys_thread_exit(void)
{
    for (;;) {
        sys_plain(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
    }
}

/* ---- memory ---- */
static inline uint32_t sys_mem_map(uint64_t address, uint64_t pages, uint32_t prot)
{
    return sys_plain(SYS_MEM_MAP, address, pages, prot, 0, 0);
}

static inline uint32_t sys_mem_unmap(uint64_t address, uint64_t pages)
{
    return sys_plain(SYS_MEM_UNMAP, address, pages, 0, 0, 0);
}

static inline uint32_t sys_share_offer(uint32_t slot, uint64_t address)
{
    return sys_plain(SYS_SHARE_OFFER, slot, address, 0, 0, 0);
}

static inline uint32_t sys_share_accept(uint32_t slot, uint64_t address, uint32_t prot)
{
    return sys_plain(SYS_SHARE_ACCEPT, slot, address, prot, 0, 0);
}

static inline uint32_t sys_share_withdraw(uint32_t slot)
{
    return sys_plain(SYS_SHARE_WITHDRAW, slot, 0, 0, 0, 0);
}

static inline uint32_t sys_quota(uint64_t *used, uint64_t *quota)
{
    struct sys_result r = sys_raw(SYS_QUOTA, 0, 0, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *used = r.first;
        *quota = r.second;
    }
    return (uint32_t)r.status;
}

/* ---- bounded buffers ---- */
static inline uint32_t sys_buffer_insert(uint32_t slot, uint64_t word)
{
    return sys_plain(SYS_BUFFER_INSERT, slot, word, 0, 0, 0);
}

static inline uint32_t sys_buffer_remove(uint32_t slot, uint64_t *word)
{
    struct sys_result r = sys_raw(SYS_BUFFER_REMOVE, slot, 0, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *word = r.first;
    }
    return (uint32_t)r.status;
}

/* ---- processes ---- */
static inline uint32_t sys_process_create(uint32_t slot)
{
    return sys_plain(SYS_PROCESS_CREATE, slot, 0, 0, 0, 0);
}

/* Gives the child a copy of one of the caller's own pages at `child_address`. */
static inline uint32_t sys_process_copy(uint32_t slot, uint64_t child_address, uint64_t own_address, uint32_t prot)
{
    return sys_plain(SYS_PROCESS_COPY, slot, child_address, own_address, prot, 0);
}

static inline uint32_t sys_process_start(uint32_t slot, uint64_t entry, uint64_t stack, uint64_t argument)
{
    return sys_plain(SYS_PROCESS_START, slot, entry, stack, argument, 0);
}

static inline uint32_t sys_process_kill(uint32_t slot)
{
    return sys_plain(SYS_PROCESS_KILL, slot, 0, 0, 0, 0);
}

/* state: PROCESS_*; cause: END_* with its detail, meaningful once the state is PROCESS_EMPTY again. */
static inline uint32_t sys_process_status(uint32_t slot, uint64_t *state, uint64_t *cause)
{
    struct sys_result r = sys_raw(SYS_PROCESS_STATUS, slot, 0, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *state = r.first;
        *cause = r.second;
    }
    return (uint32_t)r.status;
}

static inline _Noreturn void sys_process_exit(uint32_t code)
{
    for (;;) {
        sys_plain(SYS_PROCESS_EXIT, code, 0, 0, 0, 0);
    }
}

/* ---- devices ---- */
static inline uint32_t sys_irq_ack(uint32_t slot)
{
    return sys_plain(SYS_IRQ_ACK, slot, 0, 0, 0, 0);
}

static inline uint32_t sys_device_map(uint32_t slot, uint64_t address, uint64_t page)
{
    return sys_plain(SYS_DEVICE_MAP, slot, address, page, 0, 0);
}

static inline uint32_t sys_port_in(uint32_t slot, uint64_t offset, uint32_t width, uint64_t *value)
{
    struct sys_result r = sys_raw(SYS_PORT_IN, slot, offset, width, 0, 0);
    if (r.status == STATUS_OK) {
        *value = r.first;
    }
    return (uint32_t)r.status;
}

static inline uint32_t sys_port_out(uint32_t slot, uint64_t offset, uint32_t width, uint64_t value)
{
    return sys_plain(SYS_PORT_OUT, slot, offset, width, value, 0);
}

static inline uint32_t sys_dma_address(uint32_t slot, uint64_t address, uint64_t *physical)
{
    struct sys_result r = sys_raw(SYS_DMA_ADDRESS, slot, address, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *physical = r.first;
    }
    return (uint32_t)r.status;
}

/* ---- virtual machines ---- */
static inline uint32_t sys_vm_map(uint32_t slot, uint64_t guest_address, uint64_t own_address, uint64_t pages,
                                  uint32_t prot)
{
    return sys_plain(SYS_VM_MAP, slot, guest_address, own_address, pages, prot);
}

static inline uint32_t sys_vm_unmap(uint32_t slot, uint64_t guest_address, uint64_t pages)
{
    return sys_plain(SYS_VM_UNMAP, slot, guest_address, pages, 0, 0);
}

static inline uint32_t sys_vcpu_page(uint32_t slot, uint64_t address)
{
    return sys_plain(SYS_VCPU_PAGE, slot, address, 0, 0, 0);
}

/* Runs the guest until an exit the monitor must handle, the deadline, or a bit in the notification. */
static inline uint32_t sys_vcpu_run(uint32_t slot, uint64_t deadline, uint32_t notification, uint64_t *reason)
{
    struct sys_result r = sys_raw(SYS_VCPU_RUN, slot, deadline, notification, 0, 0);
    *reason = r.first;
    return (uint32_t)r.status;
}

/* ---- console, end of run, self check ---- */

/* Writes up to 64 bytes that stand in `words`; *taken says how many the ring had room for. */
static inline uint32_t sys_console_write(uint32_t slot, uint32_t bytes, const uint64_t words[8], uint32_t *taken)
{
    register uint64_t a __asm__("rdi") = slot;
    register uint64_t b __asm__("rsi") = bytes;
    register uint64_t w0 __asm__("rdx") = words[0];
    register uint64_t w1 __asm__("r10") = words[1];
    register uint64_t w2 __asm__("r8") = words[2];
    register uint64_t w3 __asm__("r9") = words[3];
    register uint64_t w4 __asm__("r12") = words[4];
    register uint64_t w5 __asm__("r13") = words[5];
    register uint64_t w6 __asm__("r14") = words[6];
    register uint64_t w7 __asm__("r15") = words[7];
    uint64_t number = SYS_CONSOLE_WRITE;
    __asm__ volatile("syscall"
                     : "+a"(number), "+r"(a), "+r"(b), "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3), "+r"(w4), "+r"(w5),
                       "+r"(w6), "+r"(w7)
                     :
                     : "rcx", "r11", "memory");
    *taken = number == STATUS_OK ? (uint32_t)a : 0;
    return (uint32_t)number;
}

/* Takes up to 64 bytes of input; *bytes = 0 if there are none. */
static inline uint32_t sys_console_read(uint32_t slot, uint64_t words[8], uint32_t *bytes)
{
    register uint64_t a __asm__("rdi") = slot;
    register uint64_t b __asm__("rsi") = 0;
    register uint64_t w0 __asm__("rdx");
    register uint64_t w1 __asm__("r10");
    register uint64_t w2 __asm__("r8");
    register uint64_t w3 __asm__("r9");
    register uint64_t w4 __asm__("r12");
    register uint64_t w5 __asm__("r13");
    register uint64_t w6 __asm__("r14");
    register uint64_t w7 __asm__("r15");
    uint64_t number = SYS_CONSOLE_READ;
    __asm__ volatile("syscall"
                     : "+a"(number), "+r"(a), "+r"(b), "=r"(w0), "=r"(w1), "=r"(w2), "=r"(w3), "=r"(w4), "=r"(w5),
                       "=r"(w6), "=r"(w7)
                     :
                     : "rcx", "r11", "memory");
    words[0] = w0;
    words[1] = w1;
    words[2] = w2;
    words[3] = w3;
    words[4] = w4;
    words[5] = w5;
    words[6] = w6;
    words[7] = w7;
    *bytes = number == STATUS_OK ? (uint32_t)a : 0;
    return (uint32_t)number;
}

static inline uint32_t sys_power_off(uint32_t slot, uint32_t code)
{
    return sys_plain(SYS_POWER_OFF, slot, code, 0, 0, 0);
}

/* Debug builds: *broken is 0 or the number of the first broken invariant. */
static inline uint32_t sys_check(uint64_t *broken)
{
    struct sys_result r = sys_raw(SYS_CHECK, 0, 0, 0, 0, 0);
    if (r.status == STATUS_OK) {
        *broken = r.first;
    }
    return (uint32_t)r.status;
}

#endif
