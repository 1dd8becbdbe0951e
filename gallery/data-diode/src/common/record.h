/* The page through which records go, and how it is written and read without a lock: the sequence is odd while the record
 * changes, so that a reader who sees one even number before and after has a whole record. The writer never waits. */
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

#define RECORD_WORDS 6u

struct record {
    uint64_t number; /* 1 for the first */
    uint64_t word[RECORD_WORDS];
};

struct record_page {
    uint64_t sequence;
    struct record record;
};

/* Writes `record`; `sequence` is the writer's own count, because others may be able to write into the page. */
static inline void record_write(volatile struct record_page *page, uint64_t *sequence, const struct record *record)
{
    page->sequence = ++*sequence;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    page->record.number = record->number;
    for (uint32_t i = 0; i < RECORD_WORDS; i++) {
        page->record.word[i] = record->word[i];
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    page->sequence = ++*sequence;
}

/* Copies the record into `record`; 0 if it was being written or there is none yet, else 1. */
static inline int record_read(const volatile struct record_page *page, struct record *record)
{
    uint64_t before = page->sequence;

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    record->number = page->record.number;
    for (uint32_t i = 0; i < RECORD_WORDS; i++) {
        record->word[i] = page->record.word[i];
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return before != 0 && before % 2 == 0 && page->sequence == before;
}

#endif
