/* expect: macro-body 5, macro-body 6, macro-body 7, macro-body 8 */
#include <stdint.h>

#define FIRST 2u
#define LAST FIRST + 1u
#define FOREVER for (;;)
#define LOOP (LOOP + 1u)
#define CURRENT word
#define GOOD (FIRST + 1u)
#define ALSO_GOOD ((uint64_t)FIRST << 3)
#define ALIAS GOOD
static uint32_t word;
static uint32_t f(uint32_t i) { return i + ALIAS; }
