/* The C side of the comparison for containers. */
#include "container.h"

#include "../driver.h"

static void start(const uint64_t *argument)
{
    hosted_reset(1);
    container_init(A(0));
}

static void split(const uint64_t *argument)
{
    answer(container_split(A(0), A(1), A(2)));
}

static void charge(const uint64_t *argument)
{
    answer(container_charge(A(0), A(1)));
}

static void refund(const uint64_t *argument)
{
    container_refund(A(0), A(1));
}

static void merge(const uint64_t *argument)
{
    answer(container_merge(A(0)));
}

/* All that can be asked of one container. */
static void look(const uint64_t *argument)
{
    uint32_t c = A(0);

    answer(container_quota(c));
    answer(container_usage(c));
    answer(container_own_usage(c));
    answer(container_parent(c));
}

static const struct operation operations[] = {
    {"start", 1, start},   {"split", 3, split}, {"charge", 2, charge},
    {"refund", 2, refund}, {"merge", 1, merge}, {"look", 1, look},
};

int main(void)
{
    return DRIVE(operations);
}
