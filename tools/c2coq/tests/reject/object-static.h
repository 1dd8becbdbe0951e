#include <stdint.h>
static uint32_t copied[4];
