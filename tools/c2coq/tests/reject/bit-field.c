/* expect: bit-field 4 */
#include <stdint.h>

struct entry { uint32_t present : 1; uint32_t frame; };
