/* Lets random_calls make random system calls until `calls` have been made in all (default 1000000): starts it anew, with
 * another seed, whenever it has ended, and ends it when it makes no progress because it blocked, and at random moments. Then asks the kernel
 * to check its own tables. Argument `seed` (default 1). */
#include "random_calls.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/syscall.h"

#define POLL_NS 1000000ul
#define STUCK_POLLS 4u /* polls without progress before the child is ended */
#define END_POLLS 60000u
#define KILL_POLLS 64u /* one poll in this many ends a child that makes progress */

static volatile uint64_t *const progress = (volatile uint64_t *)PROGRESS_ADDRESS;
static uint32_t child;

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

static uint64_t child_state(void)
{
    uint64_t state = 0;
    uint64_t cause = 0;
    require(sys_process_status(child, &state, &cause), "asking for the child");
    return state;
}

/* Runs one life; returns the calls made in it. */
static uint64_t live(uint64_t seed, uint64_t limit)
{
    struct random moments = {seed | 1};
    uint64_t last = 0;
    uint32_t stuck = 0;

    progress[PROGRESS_SEED] = seed;
    progress[PROGRESS_LIMIT] = limit;
    progress[PROGRESS_CALLS] = 0;
    require(sys_share_offer(env_slot("share.progress"), PROGRESS_ADDRESS), "offering the progress page");
    require(sys_process_create(child), "creating the child");
    require(sys_process_start(child, 0, 0, 0), "starting the child");
    for (uint32_t poll = 0; child_state() != PROCESS_EMPTY; poll++) {
        if (poll > END_POLLS) {
            panic("the child does not end: state %lu after %lu calls\n", child_state(), progress[PROGRESS_CALLS]);
        }
        sys_sleep(sys_clock() + POLL_NS);
        stuck = progress[PROGRESS_CALLS] == last ? stuck + 1 : 0;
        last = progress[PROGRESS_CALLS];
        if (stuck == STUCK_POLLS || random_next(&moments) % KILL_POLLS == 0) {
            sys_process_kill(child);
        }
    }
    /* The offer was accepted, or it stands still: either way the next life makes its own. */
    sys_share_withdraw(env_slot("share.progress"));
    /* Each thread that found the limit reached has counted once more. */
    return progress[PROGRESS_CALLS] < limit ? progress[PROGRESS_CALLS] : limit;
}

int main(void)
{
    struct random random = {env_arg_u64("seed", 1)};
    uint64_t calls = env_arg_u64("calls", 1000000);
    uint64_t made = 0;
    uint64_t lives = 0;
    uint64_t reported = 0;
    uint64_t broken = 0;

    child = env_slot_of_kind("process");
    require(sys_mem_map(PROGRESS_ADDRESS, 1, PROT_READ | PROT_WRITE), "mapping the progress page");
    while (made < calls) {
        made += live(random_next(&random), calls - made);
        lives++;
        if (made / 100000 != reported) {
            reported = made / 100000;
            print("RANDOM-CALLS so far %lu in %lu lives\n", made, lives);
        }
    }
    require(sys_check(env_slot_of_kind("power"), &broken), "asking the kernel to check its tables");
    print("RANDOM-CALLS %lu lives %lu check=%lu\n", made, lives, broken);
    return broken == 0 ? 0 : 1;
}
