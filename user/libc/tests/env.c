/* The environment page's parser. */
#include "../env_text.c"

#include <string.h>

#include "check.h"

static const char text[] = "name=shell\n"
                           "slot.endpoint.echo=3\n"
                           "slot.endpoint.echo2=4\n"
                           "slot.console.shell=7\n"
                           "file.kernel=0x10000000 8123456\n"
                           "arg.cmdline=console=ttyS0 quiet\n"
                           "arg.empty=\n"
                           "thread.main=0\n"
                           "last=1";

static int is(const char *prefix, const char *name, const char *want)
{
    size_t length = 0;
    const char *value = env_text_find(text, prefix, name, &length);
    return value != 0 && length == strlen(want) && memcmp(value, want, length) == 0;
}

int main(void)
{
    size_t length = 0;
    CHECK(is("name", "", "shell"));
    CHECK(is("slot.", "endpoint.echo", "3"));
    CHECK(is("slot.", "endpoint.echo2", "4"));
    CHECK(is("arg.", "cmdline", "console=ttyS0 quiet"));
    CHECK(is("arg.", "empty", ""));
    CHECK(is("last", "", "1"));
    CHECK(env_text_find(text, "slot.", "endpoint.ech", &length) == 0);
    CHECK(env_text_find(text, "slot.", "endpoint.echo3", &length) == 0);
    CHECK(env_text_find("", "slot.", "x", &length) == 0);
    const char *first = env_text_first(text, "slot.", "console", &length);
    CHECK(first != 0 && length == 1 && *first == '7');
    CHECK(env_text_first(text, "slot.", "cons", &length) == 0);
    const char *value = 0;
    size_t key_length = 0;
    const char *key = env_text_entry(text, "slot.endpoint.", 1, &key_length, &value, &length);
    CHECK(key != 0 && key_length == 5 && memcmp(key, "echo2", 5) == 0 && length == 1 && *value == '4');
    CHECK(env_text_entry(text, "slot.endpoint.", 2, &key_length, &value, &length) == 0);
    CHECK(env_text_entry(text, "last", 0, &key_length, &value, &length) != 0 && key_length == 0 && *value == '1');
    CHECK(env_text_entry("", "slot.", 0, &key_length, &value, &length) == 0);
    uint64_t number = 99;
    CHECK(env_text_number("0x10000000 8123456", 18, &number) == 10 && number == 0x10000000);
    CHECK(env_text_number("8123456\nz", 7, &number) == 7 && number == 8123456);
    CHECK(env_text_number("18446744073709551615", 20, &number) == 20 && number == UINT64_MAX);
    CHECK(env_text_number("18446744073709551616", 20, &number) == 0);
    CHECK(env_text_number("x", 1, &number) == 0 && env_text_number("0x", 2, &number) == 1);
    CHECK(env_text_number("", 0, &number) == 0);
    return 0;
}
