/* Start-up messages. */
#include "print.h"

#include <stdarg.h>

#include "arch.h"
#include "entry/fatal.h"
#include "device/serial.h"

static void print_number(uint64_t value)
{
    char digits[20];
    uint32_t n = 0;
    do {
        digits[n] = (char)('0' + value % 10);
        n = n + 1;
        value = value / 10;
    } while (value != 0);
    while (n > 0) {
        n = n - 1;
        serial_put_wait(digits[n]);
    }
}

static void print_list(const char *format, va_list list)
{
    for (; *format != 0; format++) {
        if (*format != '%') {
            char text[2] = {*format, 0};
            fatal_text(text);
            continue;
        }
        format++;
        if (*format == 's') {
            fatal_text(va_arg(list, const char *));
        } else if (*format == 'u') {
            print_number(va_arg(list, uint32_t));
        } else if (*format == 'U') {
            print_number(va_arg(list, uint64_t));
        } else if (*format == 'x') {
            fatal_hex(va_arg(list, uint64_t));
        }
    }
}

void boot_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
}

void boot_fail(const char *format, ...)
{
    va_list list;
    fatal_text("boot: ");
    va_start(list, format);
    print_list(format, list);
    va_end(list);
    fatal_text("\n");
    arch_power_off(BOOT_FAIL_CODE);
    for (;;) {
    }
}
