/* Start-up messages on console 0, directly to the serial port. */
#ifndef ASHLAR_PRINT_H
#define ASHLAR_PRINT_H

#include <stdint.h>

#define BOOT_FAIL_CODE 1u /* power-off code: start-up has failed */

/* printf with %s, %u (uint32_t), %U (uint64_t) and %x (uint64_t, hexadecimal). */
void boot_print(const char *format, ...);

/* Prints "boot: " and the message, and powers off. Does not return. */
void boot_fail(const char *format, ...) __attribute__((noreturn));

#endif
