#include <stdint.h>
static inline uint32_t one(void) { return 1; }
uint32_t two(void);
