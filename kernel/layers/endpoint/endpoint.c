/* Synchronous endpoints. The fast paths, a call to a waiting receiver and a reply_recv to a waiting caller, are the
 * first branches of endpoint_call and endpoint_reply_recv: one lock, the words, two state changes, a direct switch. */
#include "endpoint.h"

#include "abi.h"
#include "arch.h"
#include "endpoint_parts.h"
#include "queue.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "trace.h"
#include "uctx.h"

/* Marks in words that name a thread or count: a fast path makes one comparison for all that is not its case. */
#define ENDPOINT_MORE 0x80000000u   /* of a receiver: others wait behind it, in the queue */
#define ENDPOINT_FAULT 0x80000000u  /* of a caller: it waits for the reply to a fault message */
#define ENDPOINT_CLOSED 0x80000000u /* of busy */

#define SENDER_CALL 1u  /* waits for a reply; the kind of a thread that sends nothing, too */
#define SENDER_SEND 2u  /* waits until received */
#define SENDER_FAULT 3u /* as a call; the words describe the exception, the reply does not go to the registers */

/* One cache line each, with all that a message to a waiting receiver reads; 512 bytes apart, kernel.ld says why. Guarded by
 * LOCK_ENDPOINT_BASE + e; owner and flags are constant after start-up. */
struct endpoint {
    uint32_t receiver; /* the thread that has waited longest to receive, perhaps with ENDPOINT_MORE; NONE: none waits */
    uint32_t busy;     /* number of threads in the queue of senders; and ENDPOINT_CLOSED */
    uint32_t flags;
    uint32_t owner;
    uint32_t spare[124];
};

/* A thread's part in messages, one cache line, 512 bytes from the next. caller is guarded by the lock of endpoint `through`, the
 * fields from server on by the lock of the endpoint the thread waits on; through is used by the thread itself only. */
struct endpoint_thread {
    uint32_t caller;  /* thread that waits for this thread's reply, perhaps with ENDPOINT_FAULT; or NONE */
    uint32_t through; /* the endpoint it has received from last, or receives from: that of the caller's call */
    uint32_t server;  /* while this thread waits for a reply: the thread that owes it */
    uint32_t kind;    /* SENDER_* of its own message */
    uint32_t words;
    uint32_t status; /* outcome of a fault message */
    uint64_t badge;
    uint64_t action; /* words 0 and 1 of the reply to a fault message */
    uint64_t ip;
    uint64_t spare[58];
};

static struct endpoint endpoint[NUM_ENDPOINT];
static struct endpoint_thread endpoint_thread[NUM_THREAD];

void endpoint_init(void)
{
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        endpoint[e].receiver = NONE;
        endpoint[e].busy = ENDPOINT_CLOSED;
        endpoint[e].flags = 0u;
        endpoint[e].owner = NONE;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        endpoint_thread[t].caller = NONE;
        endpoint_thread[t].through = 0u;
        endpoint_thread[t].server = NONE;
        endpoint_thread[t].kind = SENDER_CALL;
    }
    endpoint_senders_init();
}

void endpoint_define(uint32_t e, uint32_t owner, uint32_t flags)
{
    endpoint[e].owner = owner;
    endpoint[e].flags = flags;
}

uint32_t endpoint_owner(uint32_t e)
{
    return endpoint[e].owner;
}

void endpoint_open(uint32_t e)
{
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    endpoint[e].busy = endpoint[e].busy & ~ENDPOINT_CLOSED;
    spinlock_release(LOCK_ENDPOINT_BASE + e);
}

void endpoint_copy(uint32_t to, uint32_t from, uint32_t n)
{
    uctx_copy_words(to, from, n);
    if (n <= MESSAGE_REGISTER_WORDS) {
        return;
    }
    uint32_t to_frame = thread_message_frame(to);
    uint32_t from_frame = thread_message_frame(from);
    uint32_t rest = n - MESSAGE_REGISTER_WORDS;
    if (rest > MESSAGE_MAX_WORDS - MESSAGE_REGISTER_WORDS) {
        rest = MESSAGE_MAX_WORDS - MESSAGE_REGISTER_WORDS; /* n has been checked when the message was sent */
    }
    arch_frame_copy(to_frame, from_frame, MESSAGE_REGISTER_WORDS, rest);
}

/* Gives the message of n words to thread `to`. Requires: neither thread is in user mode. */
static void endpoint_deliver(uint32_t to, uint32_t from, uint32_t n, uint64_t badge)
{
#if TRACE
    trace_event(TRACE_MESSAGE, to);
#endif
    uctx_set(to, UCTX_RAX, STATUS_OK);
    uctx_set(to, UCTX_RDI, badge);
    uctx_set(to, UCTX_RSI, (uint64_t)n);
    if (n != 0u) {
        if (n == UCTX_FIRST_WORDS) {
            uctx_copy_first(to, from);
        } else {
            endpoint_copy(to, from, n);
        }
    }
}

void endpoint_deliver_fault(uint32_t to, uint32_t from)
{
    uint64_t vector = uctx_get(from, UCTX_VECTOR);
    uint64_t code = uctx_get(from, UCTX_ERROR_CODE);
    uint64_t address = uctx_get(from, UCTX_FAULT_ADDRESS);
    uint64_t ip = uctx_get(from, UCTX_RIP);
    uint64_t sp = uctx_get(from, UCTX_RSP);
    uint64_t flags = uctx_get(from, UCTX_RFLAGS);
    uctx_set_word(to, 0u, vector);
    uctx_set_word(to, 1u, code);
    uctx_set_word(to, 2u, address);
    uctx_set_word(to, 3u, ip);
    uctx_set_word(to, 4u, sp);
    uctx_set_word(to, 5u, flags);
    uctx_set(to, UCTX_RAX, STATUS_OK);
    uctx_set(to, UCTX_RDI, endpoint_thread[from].badge);
    uctx_set(to, UCTX_RSI, FAULT_WORDS);
}

/* Stores the outcome of t's wait where t expects it. */
static void endpoint_set_status(uint32_t t, uint32_t status)
{
    if (endpoint_thread[t].kind == SENDER_FAULT) {
        endpoint_thread[t].status = status;
    } else {
        uctx_set(t, UCTX_RAX, (uint64_t)status);
    }
}

void endpoint_answer_fault(uint32_t current, uint32_t c, uint32_t n)
{
    uint64_t action = 0u;
    uint64_t ip = 0u;
    if (n > 0u) {
        action = uctx_word(current, 0u);
    }
    if (n > 1u) {
        ip = uctx_word(current, 1u);
    }
    endpoint_thread[c].action = action;
    endpoint_thread[c].ip = ip;
    endpoint_thread[c].status = STATUS_OK;
}

/* Replies with n words to the caller of the current thread. Requires: the lock of the endpoint it waits on is held. Returns
 * the thread, which no longer waits: the caller of this function makes it ready when it has released the lock. NONE if
 * there is none. */
static uint32_t endpoint_answer(uint32_t current, uint32_t n)
{
    uint32_t c = endpoint_thread[current].caller;
    if (c < NUM_THREAD) {
        endpoint_deliver(c, current, n, 0u);
    } else {
        if (c == NONE) {
            return NONE;
        }
        c = c & ~ENDPOINT_FAULT;
        endpoint_answer_fault(current, c, n);
    }
    endpoint_thread[current].caller = NONE;
    thread_end_wait(c);
    return c;
}

uint32_t endpoint_fifo(uint32_t e)
{
    if (endpoint[e].flags == ENDPOINT_FIFO) {
        return 1u;
    }
    return 0u;
}

/* Queues t as a sender of e: by priority, or last if e is first-in first-out. Requires: lock of e held. */
static void endpoint_enqueue_sender(uint32_t e, uint32_t t)
{
    endpoint_senders_insert(e, t);
    endpoint[e].busy = endpoint[e].busy + 1u;
}

/* Removes t, which waits to send to e. Requires: lock of e held. */
static void endpoint_remove_sender(uint32_t e, uint32_t t)
{
    endpoint_senders_remove(e, t);
    endpoint[e].busy = endpoint[e].busy - 1u;
}

/* Removes and returns the first sender of e, or NONE. Requires: lock of e held. */
static uint32_t endpoint_dequeue_sender(uint32_t e)
{
    uint32_t s = queue_peek(QUEUE_ENDPOINT_SEND_BASE + e);
    if (s != NONE) {
        endpoint_remove_sender(e, s);
    }
    return s;
}

/* The first in e's queue of receivers, with the mark if others wait behind it; it is removed from the queue. NONE if there
 * is none. Requires: lock of e held. */
static uint32_t endpoint_next_receiver(uint32_t e)
{
    uint32_t next = queue_dequeue(QUEUE_ENDPOINT_RECV_BASE + e);
    uint32_t behind = queue_peek(QUEUE_ENDPOINT_RECV_BASE + e);
    if (behind != NONE) {
        next = next | ENDPOINT_MORE;
    }
    return next;
}

uint32_t endpoint_dequeue_of_many(uint32_t e)
{
    uint32_t r = endpoint[e].receiver;
    if (r != NONE) {
        r = r & ~ENDPOINT_MORE;
        endpoint[e].receiver = endpoint_next_receiver(e);
    }
    return r;
}

/* Removes and returns the receiver of e that has waited longest, or NONE. Requires: lock of e held. */
static uint32_t endpoint_dequeue_receiver(uint32_t e)
{
    uint32_t r = endpoint[e].receiver;
    if (r < NUM_THREAD) {
        endpoint[e].receiver = NONE;
        return r;
    }
    r = endpoint_dequeue_of_many(e);
    return r;
}

/* Requires: lock of e held. */
static void endpoint_enqueue_receiver(uint32_t e, uint32_t t)
{
    if (endpoint[e].receiver == NONE) {
        endpoint[e].receiver = t;
    } else {
        queue_enqueue(QUEUE_ENDPOINT_RECV_BASE + e, t);
        endpoint[e].receiver = endpoint[e].receiver | ENDPOINT_MORE;
    }
}

/* Removes t, which waits to receive from e. Requires: lock of e held. */
static void endpoint_remove_receiver(uint32_t e, uint32_t t)
{
    uint32_t first = endpoint[e].receiver & ~ENDPOINT_MORE;
    if (first == t) {
        endpoint_dequeue_receiver(e);
        return;
    }
    queue_remove(t);
    uint32_t behind = queue_peek(QUEUE_ENDPOINT_RECV_BASE + e);
    if (behind == NONE) {
        endpoint[e].receiver = first;
    }
}

void endpoint_wait_to_send(uint32_t e, uint32_t current, uint32_t kind, uint64_t badge, uint32_t n)
{
    endpoint_thread[current].kind = kind;
    endpoint_thread[current].words = n;
    endpoint_thread[current].badge = badge;
    thread_set_wait(current, WAIT_ENDPOINT_SEND, e);
    endpoint_enqueue_sender(e, current);
    sched_prepare_block(current);
    spinlock_release(LOCK_ENDPOINT_BASE + e);
    sched_block();
    endpoint_thread[current].kind = SENDER_CALL;
}

/* The current thread waits for the reply of r, which has got its message, a fault message if `mark` is ENDPOINT_FAULT; else
 * mark is 0. Requires: lock of e held. Ensures: released; the caller of this function switches to r. */
static void endpoint_await_reply(uint32_t e, uint32_t current, uint32_t r, uint32_t mark)
{
    endpoint_thread[current].server = r;
    endpoint_thread[r].caller = current | mark;
    thread_end_wait(r);
    thread_set_wait(current, WAIT_REPLY, e);
    sched_prepare_block(current);
    spinlock_release(LOCK_ENDPOINT_BASE + e);
}

uint32_t endpoint_call(uint32_t e, uint64_t badge, uint32_t n)
{
    uint32_t current = thread_current();
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    uint32_t r = endpoint_dequeue_receiver(e);
    if (r != NONE) {
        endpoint_deliver(r, current, n, badge);
        endpoint_await_reply(e, current, r, 0u);
        sched_call(r);
        return 1u;
    }
    if (endpoint[e].busy >= ENDPOINT_CLOSED) {
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        uctx_set(current, UCTX_RAX, ERR_PEER_DEAD);
        return 1u;
    }
    endpoint_wait_to_send(e, current, SENDER_CALL, badge, n);
    return 0u;
}

void endpoint_send(uint32_t e, uint64_t badge, uint32_t n)
{
    uint32_t current = thread_current();
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    uint32_t r = endpoint_dequeue_receiver(e);
    if (r != NONE) {
        endpoint_deliver(r, current, n, badge);
        thread_end_wait(r);
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        sched_ready(r);
        uctx_set(current, UCTX_RAX, STATUS_OK);
        return;
    }
    if (endpoint[e].busy >= ENDPOINT_CLOSED) {
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        uctx_set(current, UCTX_RAX, ERR_PEER_DEAD);
        return;
    }
    endpoint_wait_to_send(e, current, SENDER_SEND, badge, n);
}

uint32_t endpoint_take(uint32_t current, uint32_t s)
{
    uint32_t woken = NONE;
    uint32_t mark = 0u;
    if (endpoint_thread[s].kind == SENDER_FAULT) {
        mark = ENDPOINT_FAULT;
        endpoint_deliver_fault(current, s);
    } else {
        endpoint_deliver(current, s, endpoint_thread[s].words, endpoint_thread[s].badge);
    }
    if (endpoint_thread[s].kind == SENDER_SEND) {
        uctx_set(s, UCTX_RAX, STATUS_OK);
        thread_end_wait(s);
        woken = s;
    } else {
        endpoint_thread[s].server = current;
        endpoint_thread[current].caller = s | mark;
        thread_set_wait_kind(s, WAIT_REPLY); /* the object is the endpoint already */
    }
    return woken;
}

/* Marks the current thread as waiting to receive from e, which is `through`. Requires: lock of e held; the caller
 * releases it and blocks. */
static void endpoint_prepare_recv(uint32_t e, uint32_t current)
{
    thread_set_wait(current, WAIT_ENDPOINT_RECV, e);
    endpoint_enqueue_receiver(e, current);
    sched_prepare_block(current);
}

void endpoint_receive(uint32_t e, uint32_t current)
{
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    if (endpoint[e].busy >= ENDPOINT_CLOSED) {
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        uctx_set(current, UCTX_RAX, ERR_PEER_DEAD);
        return;
    }
    endpoint_thread[current].through = e; /* no thread waits for a reply, so no lock guards it */
    uint32_t s = endpoint_dequeue_sender(e);
    if (s != NONE) {
        uint32_t woken = endpoint_take(current, s);
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        if (woken != NONE) {
            sched_ready(woken);
        } else {
            sched_borrow(s);
        }
        return;
    }
    endpoint_prepare_recv(e, current);
    spinlock_release(LOCK_ENDPOINT_BASE + e);
    sched_block();
}

void endpoint_recv(uint32_t e)
{
    uint32_t current = thread_current();
    uint32_t through = endpoint_thread[current].through;
    spinlock_acquire(LOCK_ENDPOINT_BASE + through);
    uint32_t caller = endpoint_thread[current].caller;
    spinlock_release(LOCK_ENDPOINT_BASE + through);
    if (caller != NONE) {
        uctx_set(current, UCTX_RAX, ERR_BAD_STATE);
        return;
    }
    endpoint_receive(e, current);
}

uint32_t endpoint_reply(uint32_t n)
{
    uint32_t current = thread_current();
    uint32_t through = endpoint_thread[current].through;
    uint32_t status = ERR_NO_REPLY_PENDING;
    spinlock_acquire(LOCK_ENDPOINT_BASE + through);
    uint32_t c = endpoint_answer(current, n);
    spinlock_release(LOCK_ENDPOINT_BASE + through);
    if (c != NONE) {
        status = STATUS_OK;
        sched_repay();
        sched_ready(c);
    }
    return status;
}

uint32_t endpoint_reply_recv(uint32_t e, uint32_t n)
{
    uint32_t current = thread_current();
    if (endpoint_thread[current].through != e) {
        endpoint_reply(n);
        return 0u;
    }
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    uint32_t c = NONE;
    if (endpoint[e].busy == 0u) {
        c = endpoint_answer(current, n);
    }
    if (c == NONE) {
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        endpoint_reply(n);
        return 0u;
    }
    endpoint_prepare_recv(e, current);
    spinlock_release(LOCK_ENDPOINT_BASE + e);
    sched_reply(c);
    return 1u;
}

uint32_t endpoint_fault(uint32_t e, uint64_t badge)
{
    uint32_t current = thread_current();
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    if (endpoint[e].busy >= ENDPOINT_CLOSED) {
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        return ERR_PEER_DEAD;
    }
    endpoint_thread[current].badge = badge;
    uint32_t r = endpoint_dequeue_receiver(e);
    if (r != NONE) {
        endpoint_thread[current].kind = SENDER_FAULT;
        endpoint_deliver_fault(r, current);
        endpoint_await_reply(e, current, r, ENDPOINT_FAULT);
        sched_call(r);
        sched_resumed();
        endpoint_thread[current].kind = SENDER_CALL;
    } else {
        endpoint_wait_to_send(e, current, SENDER_FAULT, badge, FAULT_WORDS);
    }
    return endpoint_thread[current].status;
}

uint64_t endpoint_fault_action(void)
{
    uint32_t current = thread_current();
    return endpoint_thread[current].action;
}

uint64_t endpoint_fault_ip(void)
{
    uint32_t current = thread_current();
    return endpoint_thread[current].ip;
}

/* Ends the wait of t, which has been removed from its endpoint's queue. Requires: lock of the endpoint held. The caller
 * of this function makes t ready when it has released the lock. */
static void endpoint_fail(uint32_t t, uint32_t status)
{
    endpoint_set_status(t, status);
    thread_end_wait(t);
}

uint32_t endpoint_close(uint32_t e)
{
    uint32_t more = 1u;
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    endpoint[e].busy = endpoint[e].busy | ENDPOINT_CLOSED;
    uint32_t t = endpoint_dequeue_sender(e);
    if (t == NONE) {
        t = endpoint_dequeue_receiver(e);
    }
    if (t != NONE) {
        endpoint_fail(t, ERR_PEER_DEAD);
    }
    spinlock_release(LOCK_ENDPOINT_BASE + e);
    if (t == NONE) {
        more = 0u;
    } else {
        sched_ready(t);
    }
    return more;
}

void endpoint_cancel(uint32_t t)
{
    /* The object cannot change meanwhile: t runs on this CPU only, and other CPUs only end its wait. It may belong to
     * a wait that is already over. */
    uint32_t e = thread_wait_object(t);
    if (e >= NUM_ENDPOINT) {
        return;
    }
    spinlock_acquire(LOCK_ENDPOINT_BASE + e);
    uint32_t kind = thread_wait_kind(t);
    if (kind == WAIT_REPLY) { /* in no queue, but it may have lent its time */
        uint32_t server = endpoint_thread[t].server;
        endpoint_thread[server].caller = NONE;
        endpoint_fail(t, ERR_CANCELLED);
        spinlock_release(LOCK_ENDPOINT_BASE + e);
        sched_revoke(server);
        sched_ready(t);
        return;
    }
    uint32_t waits = 0u;
    if (kind == WAIT_ENDPOINT_SEND) {
        endpoint_remove_sender(e, t);
        waits = 1u;
    }
    if (kind == WAIT_ENDPOINT_RECV) {
        endpoint_remove_receiver(e, t);
        waits = 1u;
    }
    if (waits == 1u) {
        endpoint_fail(t, ERR_CANCELLED);
    }
    spinlock_release(LOCK_ENDPOINT_BASE + e);
    if (waits == 1u) {
        sched_ready(t);
    }
}

void endpoint_thread_ended(void)
{
    uint32_t current = thread_current();
    uint32_t through = endpoint_thread[current].through;
    spinlock_acquire(LOCK_ENDPOINT_BASE + through);
    uint32_t c = endpoint_thread[current].caller;
    if (c != NONE) {
        c = c & ~ENDPOINT_FAULT;
        endpoint_thread[current].caller = NONE;
        endpoint_fail(c, ERR_PEER_DEAD);
    }
    spinlock_release(LOCK_ENDPOINT_BASE + through);
    if (c != NONE) {
        sched_ready(c);
    }
}

#if DEBUG
#include "endpoint_check.c"
#endif
