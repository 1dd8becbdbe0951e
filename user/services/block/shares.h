/* Who may use how much of the disk. Each client has a weight.
 *
 * Of the places in the disk's queue a client has its part by weight, and what is under way for it is as much work as that many
 * commands of 4 KiB: large ones take more of the service's time, of the driver's and of the disk's. A flush stops all others' commands
 * while it lasts, so until they have had their part of the time its client has no further one, and one command at a time. */
#ifndef BLOCK_SHARES_H
#define BLOCK_SHARES_H

#include <stdint.h>

/* What a command costs beside its bytes: as much as so many bytes. Counted: a read of 4 KiB takes 5,200 instructions of the service and
 * of the kernel for it, of which copying the bytes is 1,300. */
#define WORK_COMMAND 12288u
#define WORK_USUAL (WORK_COMMAND + 4096u)
/* Longest wait of a client between two flushes, ns: a disk that takes seconds for one is not to stop a client for minutes. */
#define FLUSH_WAIT_MOST 1000000000ul

static inline uint32_t work_of(uint32_t bytes)
{
    return WORK_COMMAND + bytes;
}

/* Places in a queue of `depth` that a client of weight `weight` may have. Requires: sum is that of all weights. */
static inline uint32_t share_places(uint32_t depth, uint32_t weight, uint32_t sum)
{
    uint32_t places = depth * weight / sum;
    return places != 0 ? places : 1;
}

/* How much work may be under way for it. */
static inline uint32_t share_work(uint32_t depth, uint32_t weight, uint32_t sum)
{
    return depth * WORK_USUAL * weight / sum;
}

/* May a command of `work` begin beside what is under way? One alone always may. */
static inline uint32_t share_admits(uint32_t most, uint32_t under_way, uint32_t work)
{
    return under_way == 0 || under_way + work <= most;
}

/* How long a client waits after a flush that took `took` ns. */
static inline uint64_t share_flush_wait(uint64_t took, uint32_t weight, uint32_t sum)
{
    uint64_t wait = took < FLUSH_WAIT_MOST ? took * (sum - weight) / weight : FLUSH_WAIT_MOST;
    return wait < FLUSH_WAIT_MOST ? wait : FLUSH_WAIT_MOST;
}

#endif
