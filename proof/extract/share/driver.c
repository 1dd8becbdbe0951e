/* The C side of the comparison for shares, with the frames that they pass on. */
#include "share.h"

#include "container.h"
#include "../driver.h"
#include "frame.h"

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
    share_init();
}

static void define(const uint64_t *argument)
{
    share_define(A(0), A(1), A(2));
}

static void alloc(const uint64_t *argument)
{
    answer(frame_alloc(A(0)));
}

/* As the rule of share.h wants it: a frame that is taken from a process is offered no more. */
static void give_up(const uint64_t *argument)
{
    share_forget(A(1), A(0));
    answer(frame_remove_owner(A(0), A(1)));
}

static void offer(const uint64_t *argument)
{
    answer(share_offer(A(0), A(1), A(2)));
}

static void accept(const uint64_t *argument)
{
    answer(share_accept(A(0), A(1)));
}

static void withdraw(const uint64_t *argument)
{
    answer(share_withdraw(A(0), A(1)));
}

static void forget(const uint64_t *argument)
{
    share_forget(A(0), A(1));
}

static void ended(const uint64_t *argument)
{
    share_process_ended(A(0));
}

static void look(const uint64_t *argument)
{
    answer(share_frame(A(0)));
}

static void owners(const uint64_t *argument)
{
    answer(frame_owners(A(0)));
}

static const struct operation operations[] = {
    {"start", 3, start}, {"define", 3, define}, {"alloc", 1, alloc},       {"give_up", 2, give_up},
    {"offer", 3, offer}, {"accept", 2, accept}, {"withdraw", 2, withdraw}, {"forget", 2, forget},
    {"ended", 1, ended}, {"look", 1, look},     {"owners", 1, owners},
};

int main(void)
{
    return DRIVE(operations);
}
