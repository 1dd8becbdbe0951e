/* Look-ups in this process's own environment page. */
#include "ashlar/env.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

static const char *page(void)
{
#ifdef ASHLAR_UNIT
    return unit_environment();
#else
    return (const char *)ENV_VADDR;
#endif
}

/* The value as a 32-bit index, or NO_SLOT. */
static uint32_t index_value(const char *value, size_t length)
{
    uint64_t number = 0;
    if (value == 0 || env_text_number(value, length, &number) == 0 || number >= NO_SLOT) {
        return NO_SLOT;
    }
    return (uint32_t)number;
}

uint32_t env_slot(const char *name)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "slot.", name, &length);
    return index_value(value, length);
}

uint32_t env_slot_of_kind(const char *kind)
{
    size_t length = 0;
    const char *value = env_text_first(page(), "slot.", kind, &length);
    return index_value(value, length);
}

/* Address and bytes, as `0xADDRESS BYTES`; 0 if there is no value or it is not so, else 1. */
static int region_value(const char *value, size_t length, const void **address, uint64_t *size)
{
    if (value == 0) {
        return 0;
    }
    uint64_t at = 0;
    size_t taken = env_text_number(value, length, &at);
    if (taken == 0 || taken >= length || value[taken] != ' ') {
        return 0;
    }
    taken++;
    if (env_text_number(value + taken, length - taken, size) == 0) {
        return 0;
    }
    *address = (const void *)at;
    return 1;
}

int env_file(const char *name, const void **address, uint64_t *size)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "file.", name, &length);
    return region_value(value, length, address, size);
}

int env_trace(const void **address, uint64_t *size)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "trace", "", &length);
    return region_value(value, length, address, size);
}

uint32_t env_thread(const char *name)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "thread.", name, &length);
    return index_value(value, length);
}

static long copy_value(const char *value, size_t length, char *buffer, size_t size)
{
    if (size > 0) {
        size_t kept = length < size ? length : size - 1;
        memcpy(buffer, value, kept);
        buffer[kept] = 0;
    }
    return (long)length;
}

long env_arg(const char *name, char *buffer, size_t size)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "arg.", name, &length);
    return value == 0 ? -1 : copy_value(value, length, buffer, size);
}

int env_child(uint32_t index, char *name, size_t size, uint32_t *slot)
{
    size_t key_length = 0, value_length = 0;
    const char *value = 0;
    const char *key = env_text_entry(page(), "slot.process.", index, &key_length, &value, &value_length);
    if (key == 0) {
        return 0;
    }
    copy_value(key, key_length, name, size);
    *slot = index_value(value, value_length);
    return 1;
}

uint64_t env_arg_u64(const char *name, uint64_t fallback)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "arg.", name, &length);
    uint64_t number = 0;
    size_t taken = value == 0 ? 0 : env_text_number(value, length, &number);
    if (taken == 0) {
        return fallback;
    }
    uint32_t shift = 0;
    if (taken < length) {
        shift = value[taken] == 'K' ? 10 : value[taken] == 'M' ? 20 : value[taken] == 'G' ? 30 : 64;
    }
    if (shift == 64 || (number << shift) >> shift != number) {
        return fallback;
    }
    return number << shift;
}

void env_name(char *buffer, size_t size)
{
    size_t length = 0;
    const char *value = env_text_find(page(), "name", "", &length);
    copy_value(value == 0 ? "" : value, value == 0 ? 0 : length, buffer, size);
}
