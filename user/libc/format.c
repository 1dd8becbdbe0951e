/* The formatter behind print(). */
#include <stdint.h>

#include "ashlar/print.h"

struct output {
    char *buffer;
    size_t size;
    size_t length; /* what it would be without cutting */
};

static void put(struct output *out, char c)
{
    if (out->length + 1 < out->size) {
        out->buffer[out->length] = c;
    }
    out->length++;
}

/* Writes `text` in a field of `width`; zeros go between sign and digits. */
static void put_field(struct output *out, const char *text, size_t length, size_t width, int left, int zero)
{
    size_t padding = width > length ? width - length : 0;
    if (zero && length > 0 && *text == '-') {
        put(out, *text++);
        length--;
    }
    for (size_t i = 0; !left && i < padding; i++) {
        put(out, zero ? '0' : ' ');
    }
    for (size_t i = 0; i < length; i++) {
        put(out, text[i]);
    }
    for (size_t i = 0; left && i < padding; i++) {
        put(out, ' ');
    }
}

/* Digits of `value` at the end of `digits[24]`; returns where they begin. */
static char *number_text(char digits[24], uint64_t value, uint32_t base, int negative)
{
    char *p = digits + 24;
    do {
        *--p = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    if (negative) {
        *--p = '-';
    }
    return p;
}

size_t format_list(char *buffer, size_t size, const char *pattern, va_list list)
{
    struct output out = {buffer, size, 0};
    for (const char *p = pattern; *p != 0; p++) {
        if (*p != '%') {
            put(&out, *p);
            continue;
        }
        p++;
        int left = 0, zero = 0, is_long = 0;
        size_t width = 0;
        for (; *p == '-' || *p == '0'; p++) {
            left |= *p == '-';
            zero |= *p == '0';
        }
        for (; *p >= '0' && *p <= '9'; p++) {
            width = width * 10 + (size_t)(*p - '0');
        }
        for (; *p == 'l' || *p == 'z'; p++) {
            is_long = 1;
        }
        char digits[24];
        char *text = digits;
        size_t length = 0;
        switch (*p) {
        case 'd': {
            int64_t value = is_long ? va_arg(list, long) : va_arg(list, int);
            text = number_text(digits, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, value < 0);
            length = (size_t)(digits + 24 - text);
            break;
        }
        case 'u':
        case 'x': {
            uint64_t value = is_long ? va_arg(list, unsigned long) : va_arg(list, unsigned);
            text = number_text(digits, value, *p == 'u' ? 10 : 16, 0);
            length = (size_t)(digits + 24 - text);
            break;
        }
        case 'p':
            text = number_text(digits, (uint64_t)va_arg(list, void *), 16, 0);
            length = (size_t)(digits + 24 - text);
            break;
        case 's': {
            const char *argument = va_arg(list, const char *);
            argument = argument != 0 ? argument : "(null)";
            while (argument[length] != 0) {
                length++;
            }
            put_field(&out, argument, length, width, left, 0);
            continue;
        }
        case 'c':
            digits[0] = (char)va_arg(list, int);
            length = 1;
            zero = 0;
            break;
        case '%':
            digits[0] = '%';
            length = 1;
            break;
        case 0: /* a lone % at the end */
            p--;
            continue;
        default: /* unknown: show it as it stands */
            digits[0] = '%';
            digits[1] = *p;
            length = 2;
            break;
        }
        put_field(&out, text, length, width, left, zero && !left);
    }
    if (size > 0) {
        buffer[out.length < size ? out.length : size - 1] = 0;
    }
    return out.length;
}

size_t format(char *buffer, size_t size, const char *pattern, ...)
{
    va_list list;
    va_start(list, pattern);
    size_t length = format_list(buffer, size, pattern, list);
    va_end(list);
    return length;
}
