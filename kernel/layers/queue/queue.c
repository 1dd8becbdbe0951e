/* Doubly linked lists over thread ids. */
#include "queue.h"

/* Guarded by the lock of the layer that uses the queue. first and last are both NONE if the queue is empty. */
struct queue {
    uint32_t first;
    uint32_t last;
};

/* One cache line each: neighbours belong to different CPUs; 512 bytes apart, kernel.ld says why. Guarded as the queue the thread
 * is in. */
struct queue_node {
    uint32_t queue; /* NONE: in no queue */
    uint32_t next;
    uint32_t previous;
    uint32_t spare[125];
};

static struct queue queue[NUM_QUEUE];
static struct queue_node queue_node[NUM_THREAD];

void queue_init(void)
{
    for (uint32_t q = 0u; q < NUM_QUEUE; q = q + 1u) {
        queue[q].first = NONE;
        queue[q].last = NONE;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        queue_node[t].queue = NONE;
        queue_node[t].next = NONE;
        queue_node[t].previous = NONE;
    }
}

void queue_enqueue(uint32_t q, uint32_t t)
{
    uint32_t last = queue[q].last;
    queue_node[t].queue = q;
    queue_node[t].next = NONE;
    queue_node[t].previous = last;
    if (last == NONE) {
        queue[q].first = t;
    } else {
        queue_node[last].next = t;
    }
    queue[q].last = t;
}

void queue_enqueue_head(uint32_t q, uint32_t t)
{
    uint32_t first = queue[q].first;
    queue_node[t].queue = q;
    queue_node[t].next = first;
    queue_node[t].previous = NONE;
    if (first == NONE) {
        queue[q].last = t;
    } else {
        queue_node[first].previous = t;
    }
    queue[q].first = t;
}

void queue_insert_before(uint32_t q, uint32_t t, uint32_t before)
{
    uint32_t previous = queue_node[before].previous;
    queue_node[t].queue = q;
    queue_node[t].next = before;
    queue_node[t].previous = previous;
    queue_node[before].previous = t;
    if (previous == NONE) {
        queue[q].first = t;
    } else {
        queue_node[previous].next = t;
    }
}

uint32_t queue_dequeue(uint32_t q)
{
    uint32_t t = queue[q].first;
    if (t == NONE) {
        return NONE;
    }
    uint32_t next = queue_node[t].next;
    queue[q].first = next;
    if (next == NONE) {
        queue[q].last = NONE;
    } else {
        queue_node[next].previous = NONE;
    }
    queue_node[t].queue = NONE;
    queue_node[t].next = NONE;
    return t;
}

void queue_remove(uint32_t t)
{
    uint32_t q = queue_node[t].queue;
    uint32_t next = queue_node[t].next;
    uint32_t previous = queue_node[t].previous;
    if (previous == NONE) {
        queue[q].first = next;
    } else {
        queue_node[previous].next = next;
    }
    if (next == NONE) {
        queue[q].last = previous;
    } else {
        queue_node[next].previous = previous;
    }
    queue_node[t].queue = NONE;
    queue_node[t].next = NONE;
    queue_node[t].previous = NONE;
}

uint32_t queue_peek(uint32_t q)
{
    return queue[q].first;
}

uint32_t queue_next(uint32_t t)
{
    return queue_node[t].next;
}

uint32_t queue_of(uint32_t t)
{
    return queue_node[t].queue;
}

#if DEBUG
#include "queue_check.c"
#endif
