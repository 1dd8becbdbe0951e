/* The C side of the comparison for frames, and the containers that they are charged to. */
#include "frame.h"

#include "arch.h"
#include "container.h"
#include "../driver.h"

#define PROCESSES 8u /* that have a container; more would never meet */

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
}

/* The frame, and 1 if every word of it is 0; then it is dirty. */
static void alloc(const uint64_t *argument)
{
    uint32_t frame = frame_alloc(A(0));
    uint64_t all = 0;

    answer(frame);
    if (frame < NUM_FRAME) {
        for (uint32_t word = 0; word < FRAME_WORDS; word++) {
            all |= arch_frame_read(frame, word);
        }
        answer(all == 0);
        arch_frame_write(frame, frame % FRAME_WORDS, ~0ul);
    }
}

static void add_owner(const uint64_t *argument)
{
    answer(frame_add_owner(A(0), A(1)));
}

static void remove_owner(const uint64_t *argument)
{
    answer(frame_remove_owner(A(0), A(1)));
}

/* All that can be asked about a frame, and how many are free. */
static void look(const uint64_t *argument)
{
    answer(frame_owners(A(0)));
    answer(frame_state(A(0)));
    answer(frame_free_count());
}

static void usage(const uint64_t *argument)
{
    answer(container_usage(A(0)));
}

static const struct operation operations[] = {
    {"start", 3, start}, {"alloc", 1, alloc}, {"add_owner", 2, add_owner}, {"remove_owner", 2, remove_owner},
    {"look", 1, look},   {"usage", 1, usage},
};

int main(void)
{
    return DRIVE(operations);
}
