/* The log on the disk: blocks of a sector each, numbered from 1, block n at place n modulo the number of places, so that the newest
 * overwrite the oldest. A block that was not written whole, or is another one's, does not count. This part knows no disk: the unit
 * test runs it on the host. */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

#define LOG_MAGIC 0x3176676f6cul /* "logv1" */
#define LOG_READINGS 8u          /* of a block */

struct log_block {
    uint64_t magic;
    uint64_t number;
    uint64_t reading[LOG_READINGS];
    uint64_t sum; /* of all that stands before it */
};

/* FNV-1a over the words before `sum`. */
static inline uint64_t log_sum(const struct log_block *block)
{
    const uint64_t *word = (const uint64_t *)block;
    uint64_t sum = 0xcbf29ce484222325ul;

    for (uint32_t i = 0; i < sizeof *block / 8 - 1; i++) {
        for (uint32_t byte = 0; byte < 8; byte++) {
            sum = (sum ^ (word[i] >> 8 * byte & 0xff)) * 0x100000001b3ul;
        }
    }
    return sum;
}

static inline void log_seal(struct log_block *block, uint64_t number)
{
    block->magic = LOG_MAGIC;
    block->number = number;
    block->sum = log_sum(block);
}

static inline int log_is_whole(const struct log_block *block)
{
    return block->magic == LOG_MAGIC && block->number != 0 && block->sum == log_sum(block);
}

static inline uint64_t log_place(uint64_t number, uint64_t places)
{
    return number % places;
}

/* What has been found while all places are looked at, in any order. */
struct log_scan {
    uint64_t places;
    uint64_t blocks;  /* that are whole, each at its place */
    uint64_t newest;  /* its number; 0: none */
    uint64_t reading; /* the last one in it */
};

static inline void log_look(struct log_scan *scan, uint64_t place, const struct log_block *block)
{
    if (!log_is_whole(block) || log_place(block->number, scan->places) != place) {
        return;
    }
    scan->blocks++;
    if (block->number > scan->newest) {
        scan->newest = block->number;
        scan->reading = block->reading[LOG_READINGS - 1];
    }
}

/* Blocks that should be there and are not. */
static inline uint64_t log_missing(const struct log_scan *scan)
{
    uint64_t expected = scan->newest < scan->places ? scan->newest : scan->places;

    return expected - scan->blocks;
}

#endif
