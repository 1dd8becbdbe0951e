/* Formatted output and console input. */
#ifndef ASHLAR_PRINT_H
#define ASHLAR_PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define PRINT_LINE 512u /* longest text of one print(); the rest is cut */

/* Formats into `buffer`, always NUL-terminated; returns the length without cutting. Understands
 * %s %c %d %u %x %p %% with the length l, a field width, and the flags 0 and -. */
size_t format(char *buffer, size_t size, const char *pattern, ...) __attribute__((format(printf, 3, 4)));
size_t format_list(char *buffer, size_t size, const char *pattern, va_list list);

/* Writes to this process's first console; without one the text is dropped. One call's text is handed over in one go
 * but can be split if the console's ring is full. */
void print(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Writes all bytes to a console slot. While the ring is full it sleeps a millisecond at a time; after two seconds
 * without progress the rest is dropped, so that a stuck console can't stop the process. Returns bytes written. */
size_t console_write(uint32_t slot, const void *data, size_t bytes);

/* Reads what input there is, at most 64 bytes; 0 if none. `buffer` has room for 64 bytes. */
size_t console_read(uint32_t slot, void *buffer);

/* Prints the message and ends the process with exit code 125. */
_Noreturn void panic(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

#define ASSERT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            panic("%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition);                                    \
        }                                                                                                              \
    } while (0)

#endif
