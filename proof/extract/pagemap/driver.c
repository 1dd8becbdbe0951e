/* The C side of the comparison for page maps, with the frames that tables are made of. */
#include "pagemap.h"

#include "abi.h"
#include "container.h"
#include "../driver.h"
#include "frame.h"

#define PROCESSES 8u /* that have a container */

/* Quota of the machine, frames from HOSTED_FIRST_FRAME on, quota of each process. */
static void start(const uint64_t *argument)
{
    hosted_reset(1);
    container_init(A(0));
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, A(1));
    for (uint32_t p = 0; p < PROCESSES; p++) {
        container_split(CONTAINER_ROOT, p, A(2));
    }
    pagemap_init();
}

static void create(const uint64_t *argument)
{
    answer(pagemap_create(A(0)));
}

static void map(const uint64_t *argument)
{
    answer(pagemap_map(A(0), argument[1], A(2), A(3), A(4)));
}

static void missing(const uint64_t *argument)
{
    answer(pagemap_missing(A(0), argument[1]));
}

/* At most so many tables: how many steps there were, and the status of the last. */
static void prepare(const uint64_t *argument)
{
    uint32_t steps = 0, status;

    do {
        status = pagemap_prepare(A(0), argument[1]);
        steps++;
    } while (status == STATUS_RESTART && steps < A(2));
    answer(steps);
    answer(status);
}

static void unmap(const uint64_t *argument)
{
    answer(pagemap_unmap(A(0), argument[1]));
}

static void walk(const uint64_t *argument)
{
    answer(pagemap_walk(A(0), argument[1]));
}

static void frame(const uint64_t *argument)
{
    answer(pagemap_frame(A(0), argument[1], A(2)));
}

static void pin(const uint64_t *argument)
{
    pagemap_pin(A(0), argument[1]);
}

/* At most so many steps: how many there were, and whether there is more to do. */
static void destroy(const uint64_t *argument)
{
    uint32_t steps = 0, more;

    do {
        more = pagemap_destroy_step(A(0));
        steps++;
    } while (more != 0 && steps < A(1));
    answer(steps);
    answer(more);
}

static void give_up(const uint64_t *argument)
{
    answer(frame_remove_owner(A(1), A(0)));
}

static void alloc(const uint64_t *argument)
{
    answer(frame_alloc(A(0)));
}

static void usage(const uint64_t *argument)
{
    answer(container_usage(A(0)));
}

static const struct operation operations[] = {
    {"start", 3, start},     {"create", 1, create},   {"map", 5, map},     {"prepare", 3, prepare},
    {"unmap", 2, unmap},     {"walk", 2, walk},       {"frame", 3, frame}, {"pin", 2, pin},
    {"destroy", 2, destroy}, {"give_up", 2, give_up}, {"alloc", 1, alloc}, {"usage", 1, usage},
    {"missing", 2, missing},
};

int main(void)
{
    return DRIVE(operations);
}
