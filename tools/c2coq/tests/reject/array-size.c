/* expect: array-size 5, array-size 6, array-size 7 */
#include <stdint.h>

static uint32_t word;
static uint32_t open[];
static uint32_t none[0];
static uint32_t variable[word];
