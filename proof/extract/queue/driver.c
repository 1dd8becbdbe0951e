/* The C side of the comparison for queues. */
#include "queue.h"

#include "../driver.h"

static void start(const uint64_t *argument)
{
    (void)argument;
    hosted_reset(1);
    queue_init();
}

static void enqueue(const uint64_t *argument)
{
    queue_enqueue(A(0), A(1));
}

static void enqueue_head(const uint64_t *argument)
{
    queue_enqueue_head(A(0), A(1));
}

static void insert_before(const uint64_t *argument)
{
    queue_insert_before(A(0), A(1), A(2));
}

static void dequeue(const uint64_t *argument)
{
    answer(queue_dequeue(A(0)));
}

static void remove_thread(const uint64_t *argument)
{
    queue_remove(A(0));
}

/* A queue from its first thread to its last, each as queue_next gives it. */
static void look(const uint64_t *argument)
{
    for (uint32_t t = queue_peek(A(0)); t != NONE; t = queue_next(t)) {
        answer(t);
    }
}

static void of(const uint64_t *argument)
{
    answer(queue_of(A(0)));
}

static const struct operation operations[] = {
    {"start", 0, start},
    {"enqueue", 2, enqueue},
    {"enqueue_head", 2, enqueue_head},
    {"insert_before", 3, insert_before},
    {"dequeue", 1, dequeue},
    {"remove", 1, remove_thread},
    {"look", 1, look},
    {"of", 1, of},
};

int main(void)
{
    return DRIVE(operations);
}
