/* expect: union 4 */
#include <stdint.h>

union word { uint64_t all; uint32_t low; };
