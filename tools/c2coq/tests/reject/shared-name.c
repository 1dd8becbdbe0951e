/* expect: shared-name 4, shared-name 5, shared-name 6 */
#include <stdint.h>

#define LIMIT 3u
static uint32_t ring[LIMIT];
static uint32_t g(void) { return ring[0]; }
static uint32_t own(void) { return 1; }
