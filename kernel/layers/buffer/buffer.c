/* Bounded buffers: a ring of words and two condition variables, one for writers that wait for room and one for readers
 * that wait for a word. */
#include "buffer.h"

#include "abi.h"
#include "cv.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"

/* Guarded by LOCK_BUFFER_BASE + b; capacity is constant after start-up, 0 while b is not defined. */
struct buffer {
    uint32_t capacity;
    uint32_t oldest; /* index of the oldest word */
    uint32_t used;   /* words held */
    uint32_t spare;
    uint64_t words[BUFFER_CAPACITY];
};

/* Written and read by the thread itself only. */
struct buffer_taken {
    uint64_t word;
};

static struct buffer buffer[NUM_BUFFER];
static struct buffer_taken buffer_taken[NUM_THREAD];

void buffer_define(uint32_t b, uint32_t capacity)
{
    buffer[b].capacity = capacity;
    buffer[b].oldest = 0u;
    buffer[b].used = 0u;
}

/* Writers and readers wait the same way: until the thread is first in its queue and the buffer is not blocked for it.
 * blocked_at is the fill at which the caller cannot proceed: capacity for writers, 0 for readers. A woken thread
 * never has to wait again: only the first of the queue is woken, only when it can proceed, and no other thread can
 * overtake it. A cancelled thread gives up. Requires: b's lock is held and the current thread is in cv's queue.
 * Returns 1 if it is the caller's turn, else 0. */
static uint32_t buffer_turn(uint32_t b, uint32_t cv, uint32_t blocked_at)
{
    uint32_t current = thread_current();
    uint32_t first = cv_first(cv);
    uint32_t cancelled = cv_cancelled();
    if (cancelled == 1u || first != current || buffer[b].used == blocked_at) {
        return 0u;
    }
    return 1u;
}

/* Waits for the turn. Requires: b's lock is held and the current thread is in cv's queue, where it is not its turn.
 * Ensures: released; it is the thread's turn, or its wait was cancelled. */
static void buffer_wait(uint32_t b, uint32_t cv)
{
    cv_prepare_wait(cv);
    spinlock_release(LOCK_BUFFER_BASE + b);
    sched_block();
}

/* Leaves cv's queue. Requires: b's lock is held. Ensures: released. */
static void buffer_leave(uint32_t b, uint32_t cv, uint32_t blocked_at)
{
    cv_leave();
    /* Also after a cancelled wait: the next thread gets the wake-up that the cancelled one consumed. */
    if (buffer[b].used != blocked_at) {
        cv_wake_first(cv);
    }
    spinlock_release(LOCK_BUFFER_BASE + b);
}

/* Requires: b's lock is held, the current thread is in the queue of writers. Ensures: released, it is in no queue. */
static uint32_t buffer_end_insert(uint32_t b, uint64_t word)
{
    uint32_t capacity = buffer[b].capacity;
    uint32_t room = 2u * b;
    uint32_t status = STATUS_OK;
    uint32_t mine = buffer_turn(b, room, capacity);
    if (mine == 1u) {
        uint32_t place = (buffer[b].oldest + buffer[b].used) % capacity;
        buffer[b].words[place] = word;
        buffer[b].used = buffer[b].used + 1u;
        cv_wake_first(room + 1u);
    } else {
        status = ERR_CANCELLED;
    }
    buffer_leave(b, room, capacity);
    return status;
}

uint32_t buffer_insert(uint32_t b, uint64_t word)
{
    uint32_t capacity = buffer[b].capacity;
    uint32_t room = 2u * b;
    if (capacity == 0u) {
        return ERR_BAD_STATE;
    }
    spinlock_acquire(LOCK_BUFFER_BASE + b);
    cv_join(room);
    uint32_t mine = buffer_turn(b, room, capacity);
    if (mine == 0u) {
        buffer_wait(b, room);
        return BUFFER_WAITED;
    }
    uint32_t status = buffer_end_insert(b, word);
    return status;
}

uint32_t buffer_insert_waited(uint32_t b, uint64_t word)
{
    spinlock_acquire(LOCK_BUFFER_BASE + b);
    uint32_t status = buffer_end_insert(b, word);
    return status;
}

/* Requires: b's lock is held, the current thread is in the queue of readers. Ensures: released, it is in no queue. */
static uint32_t buffer_end_remove(uint32_t b)
{
    uint32_t current = thread_current();
    uint32_t capacity = buffer[b].capacity;
    uint32_t filled = 2u * b + 1u;
    uint32_t status = STATUS_OK;
    uint32_t mine = buffer_turn(b, filled, 0u);
    if (mine == 1u) {
        buffer_taken[current].word = buffer[b].words[buffer[b].oldest];
        buffer[b].oldest = (buffer[b].oldest + 1u) % capacity;
        buffer[b].used = buffer[b].used - 1u;
        cv_wake_first(2u * b);
    } else {
        status = ERR_CANCELLED;
    }
    buffer_leave(b, filled, 0u);
    return status;
}

uint32_t buffer_remove(uint32_t b)
{
    uint32_t filled = 2u * b + 1u;
    if (buffer[b].capacity == 0u) {
        return ERR_BAD_STATE;
    }
    spinlock_acquire(LOCK_BUFFER_BASE + b);
    cv_join(filled);
    uint32_t mine = buffer_turn(b, filled, 0u);
    if (mine == 0u) {
        buffer_wait(b, filled);
        return BUFFER_WAITED;
    }
    uint32_t status = buffer_end_remove(b);
    return status;
}

uint32_t buffer_remove_waited(uint32_t b)
{
    spinlock_acquire(LOCK_BUFFER_BASE + b);
    uint32_t status = buffer_end_remove(b);
    return status;
}

uint64_t buffer_result(void)
{
    uint32_t current = thread_current();
    return buffer_taken[current].word;
}

uint32_t buffer_cancel(uint32_t t)
{
    uint32_t waits = 0u;
    /* Decided by queue membership, not by wait state, so that a thread which was woken but has not run yet gives up
     * too. Only t itself enters and leaves the queue, and t runs on this CPU only. */
    uint32_t cv = cv_of(t);
    if (cv < NUM_CV) {
        uint32_t b = cv / 2u;
        spinlock_acquire(LOCK_BUFFER_BASE + b);
        cv_cancel(t);
        spinlock_release(LOCK_BUFFER_BASE + b);
        waits = 1u;
    }
    return waits;
}

#if DEBUG
#include "buffer_check.c"
#endif
