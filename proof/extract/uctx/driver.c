/* The C side of the comparison for saved user registers. */
#include "uctx.h"

#include "../driver.h"
#include "arch.h"

static void start(const uint64_t *argument)
{
    (void)argument;
    hosted_reset(1);
}

/* All registers of t. */
static void see(uint32_t t)
{
    for (uint32_t reg = 0; reg < UCTX_WORDS; reg++) {
        answer(uctx_get(t, reg));
    }
}

static void get(const uint64_t *argument)
{
    answer(uctx_get(A(0), A(1)));
}

static void set(const uint64_t *argument)
{
    uctx_set(A(0), A(1), argument[2]);
    see(A(0));
}

static void word(const uint64_t *argument)
{
    answer(uctx_word(A(0), A(1)));
}

static void set_word(const uint64_t *argument)
{
    uctx_set_word(A(0), A(1), argument[2]);
    see(A(0));
}

static void copy_words(const uint64_t *argument)
{
    uctx_copy_words(A(0), A(1), A(2));
    see(A(0));
}

static void copy_first(const uint64_t *argument)
{
    uctx_copy_first(A(0), A(1));
    see(A(0));
}

static void init(const uint64_t *argument)
{
    uctx_init(A(0), argument[1], argument[2], argument[3]);
    see(A(0));
}

static void check(const uint64_t *argument)
{
    (void)argument;
    answer(uctx_check());
}

static const struct operation operations[] = {
    {"start", 0, start},
    {"get", 2, get},
    {"set", 3, set},
    {"word", 2, word},
    {"set_word", 3, set_word},
    {"copy_words", 3, copy_words},
    {"copy_first", 2, copy_first},
    {"init", 4, init},
    {"check", 0, check},
};

int main(void)
{
    return DRIVE(operations);
}
