/* Queues against a model: arrays in order. */
#include <string.h>

#include "hosted.h"
#include "queue.h"
#include "test.h"

#define NUM_MODEL 6u

static uint32_t model[NUM_MODEL][NUM_THREAD];
static uint32_t length[NUM_MODEL];
static uint32_t queue_id[NUM_MODEL] = {
    0, QUEUE_PENDING_BASE, QUEUE_ENDPOINT_SEND_BASE + 3, QUEUE_NOTIFICATION_BASE, QUEUE_CV_BASE + 1, NUM_QUEUE - 1};

static uint32_t model_of(uint32_t t, uint32_t *place)
{
    for (uint32_t q = 0; q < NUM_MODEL; q++) {
        for (uint32_t i = 0; i < length[q]; i++) {
            if (model[q][i] == t) {
                *place = i;
                return q;
            }
        }
    }
    return NONE;
}

static void model_insert(uint32_t q, uint32_t place, uint32_t t)
{
    memmove(&model[q][place + 1], &model[q][place], (length[q] - place) * sizeof(uint32_t));
    model[q][place] = t;
    length[q]++;
}

static void model_remove(uint32_t q, uint32_t place)
{
    length[q]--;
    memmove(&model[q][place], &model[q][place + 1], (length[q] - place) * sizeof(uint32_t));
}

static void compare(void)
{
    for (uint32_t q = 0; q < NUM_MODEL; q++) {
        uint32_t t = queue_peek(queue_id[q]);
        for (uint32_t i = 0; i < length[q]; i++) {
            if (!CHECK_EQUAL(t, model[q][i])) {
                return;
            }
            CHECK_EQUAL(queue_of(t), queue_id[q]);
            t = queue_next(t);
        }
        CHECK_EQUAL(t, NONE);
    }
}

static void random_operation(void)
{
    uint32_t q = test_random(NUM_MODEL);
    uint32_t t = test_random(NUM_THREAD);
    uint32_t place = 0;
    uint32_t in = model_of(t, &place);

    if (in != NONE) {
        switch (test_random(3)) {
        case 0:
            queue_remove(t);
            model_remove(in, place);
            break;
        case 1:
            if (length[q] == 0) {
                CHECK_EQUAL(queue_dequeue(queue_id[q]), NONE);
            } else {
                uint32_t first = model[q][0];
                model_remove(q, 0);
                CHECK_EQUAL(queue_dequeue(queue_id[q]), first);
                CHECK_EQUAL(queue_of(first), NONE);
            }
            break;
        }
        return;
    }
    switch (test_random(3)) {
    case 0:
        queue_enqueue(queue_id[q], t);
        model_insert(q, length[q], t);
        break;
    case 1:
        queue_enqueue_head(queue_id[q], t);
        model_insert(q, 0, t);
        break;
    default:
        if (length[q] > 0) {
            place = test_random(length[q]);
            queue_insert_before(queue_id[q], t, model[q][place]);
            model_insert(q, place, t);
        }
    }
}

int main(void)
{
    uint64_t operations = test_operations(30000);

    hosted_reset(1);
    queue_init();
    CHECK_EQUAL(queue_check(), 0);
    test_random_start();
    for (uint64_t i = 0; i < operations; i++) {
        random_operation();
        compare();
        if (!CHECK_EQUAL(queue_check(), 0)) {
            break;
        }
    }
    return TEST_END();
}
