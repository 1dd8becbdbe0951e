/* System calls in a unit test (unit.h), in place of those of syscall.h and message.h that enter the kernel by an instruction. */
#ifndef ASHLAR_UNIT_CALLS_H
#define ASHLAR_UNIT_CALLS_H

#include <stdint.h>

struct sys_result {
    uint64_t status;
    uint64_t first;
    uint64_t second;
};

struct sys_result sys_raw(uint64_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2);

static inline struct sys_result sys_raw1(uint64_t number, uint64_t a)
{
    return sys_raw(number, a, 0, 0, 0, 0);
}

static inline struct sys_result sys_raw0(uint64_t number)
{
    return sys_raw(number, 0, 0, 0, 0, 0);
}

uint32_t sys_console_write(uint32_t slot, uint32_t bytes, const uint64_t words[8], uint32_t *taken);
uint32_t sys_console_read(uint32_t slot, uint64_t words[8], uint32_t *bytes);

/* Text of the running process's environment page. */
const char *unit_environment(void);

#endif
