/* expect: typedef 4, type 5 */
#include <stdint.h>

typedef uint32_t frame_t;
static frame_t frame;
