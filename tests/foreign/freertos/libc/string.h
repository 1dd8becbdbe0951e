/* What FreeRTOS needs of the C library: main.c has the first two. */
#include <stddef.h>

void *memset(void *, int, size_t);
void *memcpy(void *, const void *, size_t);
size_t strlen(const char *);
