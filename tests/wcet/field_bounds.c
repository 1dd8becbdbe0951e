/* Loops that are bounded by fields of structures, seen through pointers.
 * Inputs: two counts of which three bits count. Cases: all pairs. */
#include "program.h"

struct job {
    uint16_t rounds, done;
    uint32_t result;
};
struct queue {
    struct job *current;
    struct job jobs[2];
} queue;

const uint32_t cases = 64;

void prepare(uint32_t number)
{
    arguments[0] = number & 7;
    arguments[1] = number >> 3;
}

NOINLINE static void start(struct job *job, uint32_t rounds)
{
    job->rounds = (uint16_t)rounds;
    job->done = 0;
    job->result = 1;
}

NOINLINE static void work(struct job *job)
{
    while (job->done < job->rounds) {
        job->result *= 3;
        job->done++;
    }
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    struct job local;
    start(&queue.jobs[0], first & 7);
    start(&queue.jobs[1], second & 7);
    start(&local, 5);
    for (queue.current = queue.jobs; queue.current < queue.jobs + 2; queue.current++)
        work(queue.current);
    work(&local);
    return local.result + queue.jobs[0].result + queue.jobs[1].result;
}
