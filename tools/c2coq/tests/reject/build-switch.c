/* expect: build-switch 4, build-switch 6, build-switch 8, build-switch 10, build-switch 12, build-switch 14, build-switch 24 */
#include <stdint.h>

#ifdef __code_model_kernel__
#endif
#if __x86_64__
#endif
#if defined(LOCK_MCS) && !defined(NDEBUG)
#endif
#ifndef ASHLAR_OTHER_H
#endif
#if DEBUG || __OPTIMIZE__
#endif
#if defined(LOCK_TICKET) || defined LIMIT
#endif

#define LIMIT 3
#if LIMIT > 2 && (DEBUG || !LOCK_BIG)
static uint32_t a;
#else
static uint64_t a;
#endif
/* A value, but not whether it has one: that depends on what was read before. */
#ifdef LIMIT
#endif
