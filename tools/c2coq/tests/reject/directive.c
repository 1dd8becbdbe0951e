/* expect: directive 4, directive 6 */
#include <stdint.h>

#pragma once
#if 1
#error stop
#else
#error not here
#endif
