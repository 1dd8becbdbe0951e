/* A hash table with open addresses: keys are put in and looked for, each with at most as many probes as there are
 * places.
 * Inputs: six keys. Cases: all ways to give six keys one of three hashes, and six equal keys. Every key's search goes
 * past at most five others: those of equal keys that are all different, which are among them. */
#include "program.h"

enum { KEYS = 6, PLACES = 8, FREE = 0 };
uint32_t keys[KEYS];
static uint32_t places[PLACES];

const uint32_t cases = 730;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = number == 729 ? 8 : number % 3 * 2 + 8 * (i + 1);
        number = number == 729 ? number : number / 3;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    uint32_t probes = 0, found = 0;
    for (uint32_t i = 0; i < PLACES; i++)
        places[i] = FREE;
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t at = keys[i] % PLACES;
        while (places[at] != FREE && places[at] != keys[i]) {
            at = (at + 1) % PLACES;
            probes++;
        }
        places[at] = keys[i];
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        for (uint32_t probe = 0; probe < PLACES; probe++) {
            uint32_t key = places[(keys[i] + probe) % PLACES];
            found += key == keys[i];
            if (key == keys[i] || key == FREE)
                break;
        }
    }
    return probes + found;
}
