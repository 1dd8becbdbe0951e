/* The test harness of the layers: CHECK counts, reports a failure, and continues; TEST_END prints the counts and
 * gives main's result. A failure shows the seed of the random numbers (environment: TEST_SEED, and TEST_OPERATIONS
 * for longer runs). */
#ifndef ASHLAR_TEST_H
#define ASHLAR_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t test_passed;
static uint64_t test_failed;
static uint64_t test_seed = 1;
static uint64_t test_state = 1;

/* May be used on several CPUs at once. */
#define CHECK(condition) test_check((condition) ? 1u : 0u, #condition, __FILE__, __LINE__)

/* As CHECK(a == b), showing both numbers. */
#define CHECK_EQUAL(a, b) test_check_equal((uint64_t)(a), (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)

#define TEST_END() test_end()

static inline uint32_t test_check(uint32_t good, const char *what, const char *file, int line)
{
    if (good) {
        __atomic_fetch_add(&test_passed, 1, __ATOMIC_RELAXED);
    } else if (__atomic_fetch_add(&test_failed, 1, __ATOMIC_RELAXED) < 20) {
        fprintf(stderr, "%s:%d: failed: %s (seed %llu)\n", file, line, what, (unsigned long long)test_seed);
    }
    return good;
}

static inline uint32_t test_check_equal(uint64_t a, uint64_t b, const char *what, const char *file, int line)
{
    if (a != b && test_failed < 20) {
        fprintf(stderr, "%s:%d: %llu, not %llu\n", file, line, (unsigned long long)a, (unsigned long long)b);
    }
    return test_check(a == b, what, file, line);
}

static inline int test_end(void)
{
    printf("%llu passed, %llu failed\n", (unsigned long long)test_passed, (unsigned long long)test_failed);
    return test_failed != 0;
}

static inline uint64_t test_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Seeds the random numbers from TEST_SEED. */
static inline void test_random_start(void)
{
    test_seed = test_number("TEST_SEED", 1);
    test_state = test_seed * 0x9e3779b97f4a7c15ul + 1;
}

/* Number of random operations of a property test. The sanitizers make each much slower. */
static inline uint64_t test_operations(uint64_t otherwise)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    otherwise /= 10;
#endif
    return test_number("TEST_OPERATIONS", otherwise);
}

/* Next number of the sequence in *state (splitmix), for CPUs that need one each. */
static inline uint64_t test_random_of(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ul;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    return z ^ z >> 31;
}

static inline uint32_t test_random(uint32_t below)
{
    return (uint32_t)(test_random_of(&test_state) % below);
}

#endif
