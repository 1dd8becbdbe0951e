/* The C side of the comparison for condition variables. */
#include "cv.h"

#include "../waiters.h"

#define CPUS 2u /* as in operations.ml */

static void start(const uint64_t *argument)
{
    (void)argument;
    start_threads(CPUS);
    cv_init();
}

static void create(const uint64_t *argument)
{
    create_thread(A(0));
}

static void join(const uint64_t *argument)
{
    run_thread(A(0));
    cv_join(A(1));
    see_variable(A(1));
}

static void wait_turn(const uint64_t *argument)
{
    uint32_t cv = cv_of(A(0));

    run_thread(A(0));
    cv_prepare_wait(cv);
    sched_block();
    settle();
    see_variable(cv);
}

static void wake_first(const uint64_t *argument)
{
    hosted_set_cpu(A(0));
    cv_wake_first(A(1));
    settle();
    see_variable(A(1));
}

static void leave(const uint64_t *argument)
{
    uint32_t cv = cv_of(A(0));

    run_thread(A(0));
    cv_leave();
    see_variable(cv);
}

static void cancel(const uint64_t *argument)
{
    hosted_set_cpu(thread_cpu(A(0)));
    cv_cancel(A(0));
    settle();
    see_variable(cv_of(A(0)));
}

static void cancelled(const uint64_t *argument)
{
    run_thread(A(0));
    answer(cv_cancelled());
}

static void of(const uint64_t *argument)
{
    answer(cv_of(A(0)));
}

static const struct operation operations[] = {
    {"start", 0, start},    {"create", 1, create},         {"join", 2, join},
    {"wait", 1, wait_turn}, {"wake_first", 2, wake_first}, {"leave", 1, leave},
    {"cancel", 1, cancel},  {"cancelled", 1, cancelled},   {"of", 1, of},
};

int main(void)
{
    return DRIVE(operations);
}
