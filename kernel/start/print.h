/* Start-up messages on console 0, straight to the serial port. */
#ifndef ASHLAR_PRINT_H
#define ASHLAR_PRINT_H

#include <stdint.h>

#define BOOT_FAIL_CODE 1u /* end-of-run code: start-up refused to go on */

/* printf with %s, %u (uint32_t), %U (uint64_t) and %x (uint64_t, hexadecimal). */
void boot_print(const char *format, ...);

/* Prints "boot: " and the message, ends the run. Does not return. */
void boot_fail(const char *format, ...) __attribute__((noreturn));

#endif
