/* Containers against a model that records charges and children of each container and recomputes the sums each
 * time. */
#include "abi.h"
#include "container.h"
#include "hosted.h"
#include "test.h"

#define ROOT_QUOTA 5000u

struct model {
    uint32_t exists;
    uint32_t parent;
    uint32_t quota;
    uint32_t charged;
};

static struct model model[NUM_CONTAINER];

static uint32_t model_usage(uint32_t c)
{
    uint32_t usage = model[c].charged;

    for (uint32_t i = 0; i < NUM_CONTAINER; i++) {
        if (model[i].exists && model[i].parent == c) {
            usage += model[i].quota;
        }
    }
    return usage;
}

static uint32_t model_children(uint32_t c)
{
    uint32_t children = 0;

    for (uint32_t i = 0; i < NUM_CONTAINER; i++) {
        children += model[i].exists && model[i].parent == c;
    }
    return children;
}

/* Sometimes the values next to the limit, where mistakes are. */
static uint32_t some_amount(uint32_t left)
{
    switch (test_random(4)) {
    case 0:
        return left;
    case 1:
        return left + 1;
    case 2:
        return test_random(2) ? 0xffffffffu : 0xffffffffu - left;
    default:
        return test_random(left / 4 + 2);
    }
}

static void random_operation(void)
{
    uint32_t c = test_random(NUM_CONTAINER);
    uint32_t other = test_random(NUM_PROCESS);
    uint32_t left = model[c].exists ? model[c].quota - model_usage(c) : 0;
    uint32_t n = some_amount(left);
    uint32_t expected = STATUS_OK;

    switch (test_random(4)) {
    case 0:
        if (c == other) {
            return;
        }
        expected = !model[c].exists || model[other].exists ? ERR_BAD_STATE : n > left ? ERR_QUOTA : STATUS_OK;
        CHECK_EQUAL(container_split(c, other, n), expected);
        if (expected == STATUS_OK) {
            model[other] = (struct model){1, c, n, 0};
        }
        break;
    case 1:
        expected = !model[c].exists ? ERR_BAD_STATE : n > left ? ERR_QUOTA : STATUS_OK;
        CHECK_EQUAL(container_charge(c, n), expected);
        if (expected == STATUS_OK) {
            model[c].charged += n;
        }
        break;
    case 2:
        if (model[c].exists && model[c].charged > 0) {
            n = 1 + test_random(model[c].charged);
            container_refund(c, n);
            model[c].charged -= n;
        }
        break;
    default:
        expected = !model[other].exists || model_usage(other) || model_children(other) ? ERR_BAD_STATE : STATUS_OK;
        CHECK_EQUAL(container_merge(other), expected);
        if (expected == STATUS_OK) {
            model[other] = (struct model){0};
        }
    }
}

static void compare(void)
{
    for (uint32_t c = 0; c < NUM_CONTAINER; c++) {
        CHECK_EQUAL(container_quota(c), model[c].quota);
        CHECK_EQUAL(container_usage(c), model_usage(c));
        CHECK_EQUAL(container_own_usage(c), model[c].charged);
        CHECK_EQUAL(container_parent(c), model[c].exists && c != CONTAINER_ROOT ? model[c].parent : NONE);
    }
}

/* Four CPUs charge one container: the charges never exceed its quota, and all are refunded. */
static uint32_t taken;
#define SHARED_QUOTA 100u

static void charge_and_refund(uint32_t cpu)
{
    uint64_t state = test_seed + cpu;

    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t n = 1 + (uint32_t)(test_random_of(&state) % 40);
        if (container_charge(0, n) == STATUS_OK) {
            uint32_t all = __atomic_add_fetch(&taken, n, __ATOMIC_SEQ_CST);
            CHECK(all <= SHARED_QUOTA);
            __atomic_fetch_sub(&taken, n, __ATOMIC_SEQ_CST);
            container_refund(0, n);
        }
    }
}

int main(void)
{
    uint64_t operations = test_operations(30000);

    hosted_reset(4);
    container_init(ROOT_QUOTA);
    model[CONTAINER_ROOT] = (struct model){1, NONE, ROOT_QUOTA, 0};
    test_random_start();
    for (uint64_t i = 0; i < operations; i++) {
        random_operation();
        if (i % 8 == 0) {
            compare();
        }
        if (!CHECK_EQUAL(container_check(), 0)) {
            break;
        }
    }
#if !defined(LOCK_BIG) /* the big lock is acquired at kernel entry, which this test lacks */
    container_init(ROOT_QUOTA);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, 0, SHARED_QUOTA), STATUS_OK);
    hosted_run_cpus(4, charge_and_refund);
    CHECK_EQUAL(container_usage(0), 0);
    CHECK_EQUAL(container_merge(0), STATUS_OK);
    CHECK_EQUAL(container_check(), 0);
#endif
    return TEST_END();
}
