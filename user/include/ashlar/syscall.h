/* The system calls, one inline function each: those that are generated from kernel/syscalls.toml (syscall_stubs.h), and here
 * those that need more registers or have two forms. Every function returns a STATUS_* or ERR_* code; results are stored
 * through pointers only when that code is STATUS_OK. Times are nanoseconds since boot. */
#ifndef ASHLAR_SYSCALL_H
#define ASHLAR_SYSCALL_H

#include <stdint.h>

#include "abi.h"
#include "syscall_numbers.h"

#define NO_SLOT 0xffffffffu /* "no such slot" of the env_* look-ups, and "no notification" of vcpu_run */
#define PAGE_SIZE 4096ul
#define DEADLINE_NEVER (~0ul)

#ifdef ASHLAR_UNIT
#include "ashlar/unit_calls.h"
#else
struct sys_result {
    uint64_t status;
    uint64_t first;  /* rdi */
    uint64_t second; /* rsi */
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

/* The same for calls that take one argument or none: nothing is loaded into the other registers. */
static inline struct sys_result sys_raw1(uint64_t number, uint64_t a)
{
    uint64_t b;
    __asm__ volatile("syscall" : "+a"(number), "+D"(a), "=S"(b) : : "rcx", "r11", "memory");
    return (struct sys_result){number, a, b};
}

static inline struct sys_result sys_raw0(uint64_t number)
{
    uint64_t a, b;
    __asm__ volatile("syscall" : "+a"(number), "=D"(a), "=S"(b) : : "rcx", "r11", "memory");
    return (struct sys_result){number, a, b};
}

#endif

/* A call of which only the status matters. */
static inline uint32_t sys_plain(uint64_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2)
{
    return (uint32_t)sys_raw(number, a, b, w0, w1, w2).status;
}

#include "syscall_stubs.h"

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

#ifndef ASHLAR_UNIT
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
#endif

#endif
