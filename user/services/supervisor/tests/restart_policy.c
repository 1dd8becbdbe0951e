/* When a child that has ended is started again. */
#include "../../../libc/env_text.c"

#include <string.h>

#include "../../../libc/tests/check.h"
#include "../restart_policy.h"

static int parse(struct restart_policy *policy, const char *text)
{
    return restart_parse(policy, text, strlen(text));
}

static void parses(void)
{
    static const char *const wrong[] = {"",           "always",         "always ",         "always 5",    "always 5 ",
                                        "always 0 1", "always 17 1",    "always 5 1 ",     "always x 1",  "never 5 1",
                                        "sometimes",  "on-failure 5x1", "on-failure 5 1x", "always 5 0x "};
    struct restart_policy policy;
    CHECK(parse(&policy, "always 5 60000000000"));
    CHECK(policy.when == RESTART_ALWAYS && policy.limit == 5 && policy.within == 60000000000ul);
    CHECK(parse(&policy, "on-failure 16 1000"));
    CHECK(policy.when == RESTART_ON_FAILURE && policy.limit == 16 && policy.within == 1000);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!parse(&policy, wrong[i]));
        CHECK(policy.when == RESTART_NEVER);
        CHECK(restart_decide(&policy, END_FAULT, 0) == RESTART_NOT_WANTED);
    }
    /* What follows the text is not read. */
    CHECK(restart_parse(&policy, "always 5 60999", 11) && policy.within == 60);
}

static void decides_by_cause(void)
{
    struct restart_policy policy;
    CHECK(parse(&policy, "on-failure 5 1"));
    CHECK(restart_decide(&policy, END_EXIT, 10) == RESTART_NOT_WANTED);
    CHECK(restart_decide(&policy, END_EXIT | 1u << 8, 10) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_KILLED, 20) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_FAULT | 14u << 8, 30) == RESTART_NOW);
    CHECK(parse(&policy, "always 5 1"));
    CHECK(restart_decide(&policy, END_EXIT, 10) == RESTART_NOW);
}

static void keeps_the_limit(void)
{
    struct restart_policy policy;
    CHECK(parse(&policy, "always 3 100"));
    CHECK(restart_decide(&policy, END_KILLED, 0) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_KILLED, 50) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_KILLED, 99) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_KILLED, 99) == RESTART_TOO_OFTEN);
    CHECK(restart_decide(&policy, END_KILLED, 100) == RESTART_NOW);
    CHECK(restart_decide(&policy, END_KILLED, 149) == RESTART_TOO_OFTEN);
    CHECK(restart_decide(&policy, END_KILLED, 150) == RESTART_NOW);
    restart_forget(&policy);
    for (uint64_t now = 151; now < 154; now++) {
        CHECK(restart_decide(&policy, END_KILLED, now) == RESTART_NOW);
    }
    CHECK(restart_decide(&policy, END_KILLED, 154) == RESTART_TOO_OFTEN);
}

int main(void)
{
    parses();
    decides_by_cause();
    keeps_the_limit();
    return 0;
}
