/* One token goes round a ring of threads, as many rounds as argument `rounds` says (default 10000). Thread i waits for
 * notification `ring<i>` and passes the token by signalling the next. The description puts the threads `t1`, `t2`, ... on
 * several CPUs; the first thread is 0. A wake-up that is lost stops the ring; one that comes twice is counted. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "ashlar/thread.h"

#define MAX_THREADS 8u

static uint64_t rounds;
static uint32_t num_threads = 1;
static uint32_t ring[MAX_THREADS];

static void pass_on(uint32_t self)
{
    uint32_t status = sys_signal(ring[(self + 1) % num_threads]);
    if (status != STATUS_OK) {
        panic("thread %u signals: error %u\n", self, status);
    }
}

static void take(uint32_t self)
{
    uint64_t bits = 0;
    uint32_t status = sys_wait(ring[self], DEADLINE_NEVER, &bits);
    if (status != STATUS_OK || bits == 0) {
        panic("thread %u waits: error %u, bits %lx\n", self, status, bits);
    }
}

static void run(uint64_t self)
{
    for (uint64_t i = 0; i < rounds; i++) {
        take((uint32_t)self);
        pass_on((uint32_t)self);
    }
}

int main(void)
{
    char name[24];
    uint64_t bits = 0;

    rounds = env_arg_u64("rounds", 10000);
    for (uint32_t i = 0; i < MAX_THREADS; i++) {
        format(name, sizeof name, "notification.ring%u", i);
        ring[i] = env_slot(name);
        format(name, sizeof name, "t%u", i);
        if (i > 0 && env_thread(name) != NO_SLOT) {
            num_threads++;
        }
    }
    for (uint32_t i = 1; i < num_threads; i++) {
        format(name, sizeof name, "t%u", i);
        uint32_t status = thread_start(env_thread(name), run, i);
        if (status != STATUS_OK) {
            panic("starting thread %u: error %u\n", i, status);
        }
    }
    for (uint64_t i = 0; i < rounds; i++) {
        pass_on(0);
        take(0);
    }
    /* The token has come back for the last time, so nothing may be left over. */
    for (uint32_t i = 0; i < num_threads; i++) {
        sys_poll(ring[i], &bits);
        if (bits != 0) {
            panic("a wake-up too many for thread %u\n", i);
        }
    }
    print("STORM done: %lu rounds over %u threads\n", rounds, num_threads);
    return 0;
}
