/* String routines: length, comparison, copy and reversal, each with a limit.
 * Inputs: two strings of at most 11 letters, ended or not. Cases: every length of both; the letters are equal but for
 * the last of one. */
#include "program.h"

enum { ROOM = 12 };
char one[ROOM], other[ROOM], joined[2 * ROOM];

const uint32_t cases = 2 * (ROOM + 1) * (ROOM + 1);

void prepare(uint32_t number)
{
    uint32_t length = number / 2 % (ROOM + 1), longer = number / 2 / (ROOM + 1);
    for (uint32_t i = 0; i < ROOM; i++) {
        one[i] = i < length ? 'a' : 0;
        other[i] = i < longer ? 'a' : 0;
    }
    if (number % 2 && longer > 0)
        other[longer - 1] = 'b';
}

NOINLINE static uint32_t length_of(const char *text, uint32_t room)
{
    uint32_t length = 0;
    while (length < room && text[length] != 0)
        length++;
    return length;
}

NOINLINE static int32_t compared(const char *a, const char *b, uint32_t room)
{
    for (; room > 0; room--, a++, b++) {
        if (*a != *b)
            return *a - *b;
        if (*a == 0)
            break;
    }
    return 0;
}

NOINLINE static void reverse(char *text, uint32_t length)
{
    if (length == 0)
        return;
    for (char *end = text + length - 1; text < end; text++, end--) {
        char letter = *text;
        *text = *end;
        *end = letter;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t length = length_of(one, ROOM), more = length_of(other, ROOM), to = 0;
    for (const char *from = one; to < length; from++)
        joined[to++] = *from;
    for (uint32_t i = 0; i < more; i++)
        joined[to++] = other[i];
    reverse(joined, to);
    return to + (uint32_t)compared(one, other, ROOM);
}
