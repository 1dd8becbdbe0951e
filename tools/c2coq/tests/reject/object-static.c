/* expect: object-static 4, object-static 5, object-static object-static.h:2 */
#include "object-static.h"
#include <stdint.h>
uint32_t visible;
extern uint32_t elsewhere;
static uint32_t hidden;
