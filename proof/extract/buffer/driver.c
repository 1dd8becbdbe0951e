/* The C side of the comparison for bounded buffers. */
#include "buffer.h"

#include "../waiters.h"
#include "abi.h"

#define CPUS 2u

static void start(const uint64_t *argument)
{
    (void)argument;
    start_threads(CPUS);
    cv_init();
    for (uint32_t b = 0; b < NUM_BUFFER; b++) {
        buffer_define(b, 0); /* as before start-up */
    }
}

static void define(const uint64_t *argument)
{
    buffer_define(A(0), A(1));
}

static void create(const uint64_t *argument)
{
    create_thread(A(0));
}

/* ---- what can be seen ---- */

static uint32_t was_blocked[NUM_THREAD];

static void before_call(uint32_t t)
{
    run_thread(t);
    for (uint32_t u = 0; u < NUM_THREAD; u++) {
        was_blocked[u] = is_blocked(u) == 1;
    }
}

static void see_buffer(uint32_t b)
{
    see_variable(2 * b);
    see_variable(2 * b + 1);
}

/* The threads that have been woken since before_call, unless the caller has blocked, and what can be seen of the buffer. */
static void after_call(uint32_t b, uint32_t status)
{
    if (status == ERR_BAD_STATE) {
        return;
    }
    settle();
    for (uint32_t u = 0; u < NUM_THREAD; u++) {
        if (was_blocked[u] && is_blocked(u) == 0) {
            answer(u);
        }
    }
    see_buffer(b);
}

static void after_remove(uint32_t b, uint32_t status)
{
    answer(status);
    if (status == STATUS_OK) {
        answer(buffer_result());
    }
    after_call(b, status);
}

/* ---- operations ---- */

static void insert(const uint64_t *argument)
{
    before_call(A(0));
    uint32_t status = buffer_insert(A(1), argument[2]);
    answer(status);
    after_call(A(1), status);
}

static void insert_waited(const uint64_t *argument)
{
    before_call(A(0));
    uint32_t status = buffer_insert_waited(A(1), argument[2]);
    answer(status);
    after_call(A(1), status);
}

static void remove_word(const uint64_t *argument)
{
    before_call(A(0));
    after_remove(A(1), buffer_remove(A(1)));
}

static void remove_waited(const uint64_t *argument)
{
    before_call(A(0));
    after_remove(A(1), buffer_remove_waited(A(1)));
}

static void result(const uint64_t *argument)
{
    run_thread(A(0));
    answer(buffer_result());
}

static void cancel(const uint64_t *argument)
{
    uint32_t cv = cv_of(A(0));

    hosted_set_cpu(thread_cpu(A(0)));
    answer(buffer_cancel(A(0)));
    settle();
    if (cv != NONE) {
        see_buffer(cv / 2);
    }
}

static void look(const uint64_t *argument)
{
    see_buffer(A(0));
}

static const struct operation operations[] = {
    {"start", 0, start},
    {"define", 2, define},
    {"create", 1, create},
    {"insert", 3, insert},
    {"remove", 2, remove_word},
    {"insert_waited", 3, insert_waited},
    {"remove_waited", 2, remove_waited},
    {"result", 1, result},
    {"cancel", 1, cancel},
    {"look", 1, look},
};

int main(void)
{
    return DRIVE(operations);
}
