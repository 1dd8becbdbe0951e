/* A word looked for in a text, letter by letter at each place.
 * Inputs: a text of 10 and a word of 4 letters, none of them ended earlier. Cases: all words of two letters in texts of
 * one letter with one change, so every number of equal letters at every place. */
#include "program.h"

enum { TEXT = 10, WORD = 4 };
char text[TEXT], word[WORD];

const uint32_t cases = 16 * (TEXT + 1);

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < TEXT; i++)
        text[i] = number / 16 == i ? 'b' : 'a';
    for (uint32_t i = 0; i < WORD; i++)
        word[i] = number >> i & 1 ? 'b' : 'a';
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    for (uint32_t place = 0; place <= TEXT - WORD; place++) {
        uint32_t equal = 0;
        while (equal < WORD && text[place + equal] == word[equal])
            equal++;
        if (equal == WORD)
            return place;
    }
    return TEXT;
}
