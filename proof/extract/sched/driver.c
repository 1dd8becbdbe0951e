/* The C side of the comparison for the ready queues of a CPU. */
#include "sched.h"

#include "../driver.h"
#include "queue.h"
#include "sched_parts.h"
#include "thread.h"

static void start(const uint64_t *argument)
{
    (void)argument;
    hosted_reset(1);
    queue_init();
    sched_ready_init();
}

/* Thread t is of CPU 0 and has this priority. */
static void define(const uint64_t *argument)
{
    thread_define(A(0), 0, 0, A(1));
}

static void insert(const uint64_t *argument)
{
    sched_ready_insert(A(0), A(1));
}

static void remove_thread(const uint64_t *argument)
{
    sched_ready_remove(A(0), A(1));
}

static void state(const uint64_t *argument)
{
    answer(thread_state(A(0)));
}

static void take(const uint64_t *argument)
{
    answer(sched_ready_take(A(0)));
}

static void best(const uint64_t *argument)
{
    answer(sched_ready_best(A(0)));
}

static const struct operation operations[] = {
    {"start", 0, start}, {"define", 2, define}, {"insert", 2, insert}, {"remove", 2, remove_thread},
    {"take", 1, take},   {"state", 1, state},   {"best", 1, best},
};

int main(void)
{
    return DRIVE(operations);
}
