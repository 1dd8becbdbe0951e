/* The environment page's parser, on any text. */
#include "ashlar/env.h"
#include "ashlar/string.h"

/* Does the line at `line` begin with prefix + name? Returns what follows, or null. */
static const char *after_key(const char *line, const char *prefix, const char *name)
{
    size_t p = strlen(prefix), n = strlen(name);
    if (strncmp(line, prefix, p) != 0 || strncmp(line + p, name, n) != 0) {
        return 0;
    }
    return line + p + n;
}

static const char *line_end(const char *at)
{
    while (*at != 0 && *at != '\n') {
        at++;
    }
    return at;
}

const char *env_text_find(const char *text, const char *prefix, const char *name, size_t *length)
{
    for (const char *line = text; *line != 0;) {
        const char *end = line_end(line);
        const char *rest = after_key(line, prefix, name);
        if (rest != 0 && *rest == '=') {
            *length = (size_t)(end - rest - 1);
            return rest + 1;
        }
        line = *end == 0 ? end : end + 1;
    }
    return 0;
}

const char *env_text_first(const char *text, const char *prefix, const char *name, size_t *length)
{
    for (const char *line = text; *line != 0;) {
        const char *end = line_end(line);
        const char *rest = after_key(line, prefix, name);
        if (rest != 0 && *rest == '.') {
            while (rest < end && *rest != '=') {
                rest++;
            }
            if (rest < end) {
                *length = (size_t)(end - rest - 1);
                return rest + 1;
            }
        }
        line = *end == 0 ? end : end + 1;
    }
    return 0;
}

const char *env_text_entry(const char *text, const char *prefix, uint32_t index, size_t *key_length, const char **value,
                           size_t *value_length)
{
    for (const char *line = text; *line != 0;) {
        const char *end = line_end(line);
        const char *key = after_key(line, prefix, "");
        const char *rest = key;
        while (rest != 0 && rest < end && *rest != '=') {
            rest++;
        }
        if (rest != 0 && rest < end && index-- == 0) {
            *key_length = (size_t)(rest - key);
            *value = rest + 1;
            *value_length = (size_t)(end - rest - 1);
            return key;
        }
        line = *end == 0 ? end : end + 1;
    }
    return 0;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return 16;
}

size_t env_text_number(const char *value, size_t length, uint64_t *number)
{
    uint64_t base = 10, result = 0;
    size_t at = 0;
    if (length > 2 && value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
        base = 16;
        at = 2;
    }
    size_t first = at;
    for (; at < length; at++) {
        uint64_t digit = (uint64_t)digit_value(value[at]);
        if (digit >= base) {
            break;
        }
        if (result > (UINT64_MAX - digit) / base) {
            return 0;
        }
        result = result * base + digit;
    }
    if (at == first) {
        return 0;
    }
    *number = result;
    return at;
}
