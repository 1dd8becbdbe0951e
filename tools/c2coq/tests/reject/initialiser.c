/* expect: initialiser 4, initialiser 5, literal 6, initialiser 7, initialiser 9 */
#include <stdint.h>

static uint32_t a[2] = {1, 2, 3};
static uint32_t b = a[0];
static uint8_t c[2] = {255, 256};
static uint32_t d[2] = 3;
static uint32_t e[4] = {[2] = 1, 2, [0] = 'a'};
static uint32_t g[2] = {[0] = 1, [0] = 2};
static uint32_t h[2][2] = {{1, 2}, {3}};
struct pair { uint32_t first; uint32_t second; };
static struct pair pairs[2] = {{1, 2}, {3, 4}};
