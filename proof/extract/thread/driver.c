/* The C side of the comparison for threads' records. The roots of page maps are numbers only: none is used. */
#include "thread.h"

#include "../driver.h"
#include "arch.h"

static void start(const uint64_t *argument)
{
    (void)argument;
    hosted_reset(NUM_CPU);
    hosted_simulate_switch(1);
    thread_init();
}

/* What functions read. */
static void see(uint32_t t)
{
    answer(thread_process(t));
    answer(thread_cpu(t));
    answer(thread_priority(t));
    answer(thread_base_priority(t));
    answer(thread_state(t));
    answer(thread_wait_kind(t));
    answer(thread_wait_object(t));
    answer(thread_message_frame(t));
    answer(thread_ending(t));
}

static void define(const uint64_t *argument)
{
    thread_define(A(0), A(1), A(2), A(3));
    see(A(0));
}

static void reset(const uint64_t *argument)
{
    thread_reset(A(0), A(1));
    see(A(0));
}

static void set_priority(const uint64_t *argument)
{
    thread_set_priority(A(0), A(1));
    see(A(0));
}

static void set_state(const uint64_t *argument)
{
    thread_set_state(A(0), A(1));
    see(A(0));
}

static void set_wait(const uint64_t *argument)
{
    thread_set_wait(A(0), A(1), A(2));
    see(A(0));
}

static void set_wait_kind(const uint64_t *argument)
{
    thread_set_wait_kind(A(0), A(1));
    see(A(0));
}

static void end_wait(const uint64_t *argument)
{
    thread_end_wait(A(0));
    see(A(0));
}

static void set_message_frame(const uint64_t *argument)
{
    thread_set_message_frame(A(0), A(1));
    see(A(0));
}

static void set_ending(const uint64_t *argument)
{
    thread_set_ending(A(0));
    see(A(0));
}

static void current(const uint64_t *argument)
{
    hosted_set_cpu(A(0));
    answer(thread_current());
}

static void switch_to(const uint64_t *argument)
{
    hosted_set_cpu(thread_cpu(A(0)));
    thread_switch(A(0));
    answer(thread_current());
    answer(arch_loaded_root());
}

static void switch_to_user(const uint64_t *argument)
{
    hosted_set_cpu(thread_cpu(A(0)));
    thread_switch_to_user(A(0));
    answer(thread_current());
    answer(arch_loaded_root());
}

static void leave_space(const uint64_t *argument)
{
    hosted_set_cpu(A(0));
    thread_leave_space();
    answer(arch_loaded_root());
    see(thread_current());
}

static const struct operation operations[] = {
    {"start", 0, start},
    {"define", 4, define},
    {"reset", 2, reset},
    {"set_priority", 2, set_priority},
    {"set_state", 2, set_state},
    {"set_wait", 3, set_wait},
    {"set_wait_kind", 2, set_wait_kind},
    {"end_wait", 1, end_wait},
    {"set_message_frame", 2, set_message_frame},
    {"set_ending", 1, set_ending},
    {"current", 1, current},
    {"switch", 1, switch_to},
    {"switch_to_user", 1, switch_to_user},
    {"leave_space", 1, leave_space},
};

int main(void)
{
    return DRIVE(operations);
}
