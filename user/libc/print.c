/* Console output and input. Nothing here keeps state, so threads may print at the same time. */
#include "ashlar/print.h"

#include "ashlar/env.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define RETRY_NS 1000000ul  /* between two tries on a full ring */
#define GIVE_UP_TRIES 2000u /* tries without progress */

size_t console_write(uint32_t slot, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    size_t written = 0;
    uint32_t tries = 0;
    while (written < bytes && tries < GIVE_UP_TRIES) {
        uint64_t words[8] = {0};
        uint32_t chunk = bytes - written < sizeof words ? (uint32_t)(bytes - written) : (uint32_t)sizeof words;
        memcpy(words, from + written, chunk);
        uint32_t taken;
        if (sys_console_write(slot, chunk, words, &taken) != STATUS_OK) {
            break;
        }
        written += taken;
        tries = taken == 0 ? tries + 1 : 0;
        if (taken == 0) {
            sys_sleep(sys_clock() + RETRY_NS);
        }
    }
    return written;
}

size_t console_read(uint32_t slot, void *buffer)
{
    uint64_t words[8];
    uint32_t bytes;
    if (sys_console_read(slot, words, &bytes) != STATUS_OK || bytes > sizeof words) {
        return 0;
    }
    memcpy(buffer, words, bytes);
    return bytes;
}

static void print_list(const char *pattern, va_list list)
{
    char line[PRINT_LINE];
    size_t length = format_list(line, sizeof line, pattern, list);
    uint32_t slot = env_slot_of_kind("console");
    if (slot != NO_SLOT) {
        console_write(slot, line, length < sizeof line ? length : sizeof line - 1);
    }
}

void print(const char *pattern, ...)
{
    va_list list;
    va_start(list, pattern);
    print_list(pattern, list);
    va_end(list);
}

_Noreturn void panic(const char *pattern, ...)
{
    va_list list;
    va_start(list, pattern);
    print_list(pattern, list);
    va_end(list);
    sys_process_exit(125);
}
