/* The formatter against expected texts, and against the C library's own on random numbers. */
#include "../format.c"

#include <string.h>

#include "check.h"

static void expect(const char *want, const char *pattern, ...)
{
    char got[256];
    va_list list;
    va_start(list, pattern);
    size_t length = format_list(got, sizeof got, pattern, list);
    va_end(list);
    if (strcmp(got, want) != 0 || length != strlen(want)) {
        fprintf(stderr, "pattern '%s': got '%s', want '%s'\n", pattern, got, want);
        exit(1);
    }
}

int main(void)
{
    expect("plain", "plain");
    expect("a b", "%s %c", "a", 'b');
    expect("(null)", "%s", (char *)0);
    expect("[  ab][ab  ]", "[%4s][%-4s]", "ab", "ab");
    expect("-2147483648 2147483647", "%d %d", -2147483647 - 1, 2147483647);
    expect("-0042|  -42|-42  |", "%05d|%5d|%-5d|", -42, -42, -42);
    expect("-9223372036854775808", "%ld", -9223372036854775807L - 1);
    expect("18446744073709551615 ffffffffffffffff", "%lu %lx", ~0ul, ~0ul);
    expect("00c0ffee 100%", "%08x 100%%", 0xc0ffeeu);
    expect("%q stays", "%q stays");
    expect("end", "end%");
    char small[4] = "zzz";
    CHECK(format(small, sizeof small, "%s", "abcdef") == 6 && strcmp(small, "abc") == 0);
    CHECK(format(small, 0, "abc") == 3);
    for (unsigned i = 0; i < 100000; i++) {
        char want[64], got[64];
        long value = (long)((unsigned long)rand() << 33 ^ (unsigned long)rand() << 11 ^ (unsigned long)rand());
        snprintf(want, sizeof want, "%ld %20lx %08x", value, value, (unsigned)value);
        format(got, sizeof got, "%ld %20lx %08x", value, value, (unsigned)value);
        CHECK(strcmp(want, got) == 0);
    }
    return 0;
}
