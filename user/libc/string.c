/* Memory and text. Words of eight bytes with plain loads and stores: user code does without vector registers (see
 * user/Makefile), and emulators run such loops faster than `rep`. */
#include "ashlar/string.h"

#include <stdint.h>

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    while (bytes >= 32) {
        word a = ((const word *)f)[0], b = ((const word *)f)[1], c = ((const word *)f)[2], d = ((const word *)f)[3];
        ((word *)t)[0] = a;
        ((word *)t)[1] = b;
        ((word *)t)[2] = c;
        ((word *)t)[3] = d;
        t += 32;
        f += 32;
        bytes -= 32;
    }
    while (bytes >= 8) {
        *(word *)t = *(const word *)f;
        t += 8;
        f += 8;
        bytes -= 8;
    }
    while (bytes > 0) {
        *t++ = *f++;
        bytes--;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if (t <= f || t >= f + bytes) {
        if (t + 32 <= f || t >= f + bytes) {
            return memcpy(to, from, bytes);
        }
        for (size_t i = 0; i < bytes; i++) {
            t[i] = f[i];
        }
        return to;
    }
    while (bytes > 0) {
        bytes--;
        t[bytes] = f[bytes];
    }
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *t = to;
    word pattern = 0x0101010101010101ul * (uint8_t)value;
    while (bytes >= 32) {
        ((word *)t)[0] = pattern;
        ((word *)t)[1] = pattern;
        ((word *)t)[2] = pattern;
        ((word *)t)[3] = pattern;
        t += 32;
        bytes -= 32;
    }
    while (bytes > 0) {
        *t++ = (uint8_t)value;
        bytes--;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    while (bytes >= 8 && *(const word *)x == *(const word *)y) {
        x += 8;
        y += 8;
        bytes -= 8;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != 0) {
        length++;
    }
    return length;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t x = (uint8_t)a[i], y = (uint8_t)b[i];
        if (x != y) {
            return x < y ? -1 : 1;
        }
        if (x == 0) {
            return 0;
        }
    }
    return 0;
}
