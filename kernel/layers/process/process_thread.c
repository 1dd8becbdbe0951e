/* Starting and cancelling threads. Only a thread's own CPU does either, so the thread cannot be in the middle of a
 * switch or of blocking. Other CPUs set a request bit for the process and send an interrupt. */
#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "endpoint.h"
#include "intc.h"
#include "notify.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "uctx.h"

/* Guarded by LOCK_PROCESS_BASE + the thread's process. */
struct planned_start {
    uint64_t entry;
    uint64_t stack;
    uint64_t argument;
    uint64_t planned; /* 1 until the thread's CPU has started it */
};

/* Bit p of processes: this CPU must serve process p. Guarded by LOCK_PROCESS_REQUEST_BASE + cpu; one cache line
 * each. process and next, the process being served and the number of the next step, are used by this CPU only. */
struct request {
    uint64_t processes;
    uint32_t process; /* or NONE */
    uint32_t next;
    uint64_t spare[6];
};

static struct planned_start planned_start[NUM_THREAD];
static struct request request[NUM_CPU];

void process_thread_init(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        planned_start[t].planned = 0u;
    }
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        request[cpu].processes = 0u;
        request[cpu].process = NONE;
        request[cpu].next = 0u;
    }
}

void process_plan_start(uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument)
{
    planned_start[t].entry = entry;
    planned_start[t].stack = stack;
    planned_start[t].argument = argument;
    planned_start[t].planned = 1u;
}

/* The parts of serving one thread. A wait that another CPU may be ending is examined under its object's lock, so each kind
 * of object is asked, in a part of its own. */
#define PROCESS_PART_START 0u
#define PROCESS_PART_NOTIFICATION 1u
#define PROCESS_PART_BUFFER 2u
#define PROCESS_PART_ENDPOINT 3u
#define PROCESS_PART_SLEEP 4u
#define PROCESS_PART_BOOST 5u /* lets it end before others run */
#define PROCESS_PARTS 6u

/* Cancels t's wait, if it is of this part's kind. Returns 1 if it was, else 0. Requires: t is marked as ending, belongs to
 * this CPU and is not current. */
static uint32_t process_cancel_wait(uint32_t t, uint32_t part)
{
    uint32_t handled = 0u;
    if (part == PROCESS_PART_NOTIFICATION) {
        handled = notify_cancel(t);
    } else if (part == PROCESS_PART_BUFFER) {
        handled = buffer_cancel(t);
    } else if (part == PROCESS_PART_ENDPOINT) {
        endpoint_cancel(t);
    } else {
        uint32_t kind = thread_wait_kind(t);
        if (kind == WAIT_SLEEP) {
            thread_end_wait(t);
            sched_clear_deadline(t);
            sched_ready(t);
        }
    }
    return handled;
}

/* Takes the start that is planned for t, if any. Returns 1 if there was one: no other is planned until t has ended. Requires:
 * the lock of t's process held. */
static uint32_t process_take_start(uint32_t t)
{
    if (planned_start[t].planned == 0u) {
        return 0u;
    }
    planned_start[t].planned = 0u;
    return 1u;
}

/* Requires: process_take_start(t) returned 1. */
static void process_run_thread(uint32_t p, uint32_t t)
{
    uint32_t root = pagemap_root_of(p);
    thread_reset(t, root);
    uctx_init(t, planned_start[t].entry, planned_start[t].stack, planned_start[t].argument);
    sched_ready(t);
}

/* Ends t, by one part. Returns the next part. Requires: t belongs to this CPU, is not current, and its process is dying. */
static uint32_t process_end_part(uint32_t t, uint32_t part)
{
    thread_set_ending(t);
    if (part == PROCESS_PART_BOOST) {
        sched_boost(t);
        return PROCESS_PARTS;
    }
    uint32_t handled = process_cancel_wait(t, part);
    if (handled == 1u) {
        return PROCESS_PART_BOOST;
    }
    return part + 1u;
}

/* Serves p by one step: one part of a thread. Returns the number of the next step, NONE after the last. The CPU
 * interrupts itself for each, so that other interrupts can be served in between. What is to be done is found out under p's
 * lock, and done without it: a thread that is alive ends on this CPU only, and p with it not before. Requires: no lock held. */
static uint32_t process_serve(uint32_t p, uint32_t step)
{
    uint32_t cpu = arch_cpu();
    uint32_t current = thread_current();
    uint32_t part = step % PROCESS_PARTS;
    uint32_t starts = 0u;
    uint32_t ends = 0u;
    uint32_t first = process_first_thread(p);
    uint32_t t = first + step / PROCESS_PARTS;
    process_lock(p);
    uint32_t dying = process_dying(p);
    uint32_t count = process_num_threads(p);
    if (step < PROCESS_PARTS * count) {
        uint32_t home = thread_cpu(t);
        uint32_t alive = process_thread_alive(t);
        if (home == cpu && part == PROCESS_PART_START) {
            starts = process_take_start(t);
        } else if (home == cpu && dying == 1u && alive == 1u && t != current) {
            ends = 1u;
        }
    }
    process_unlock(p);
    uint32_t done = PROCESS_PARTS; /* the other parts are of threads that end */
    if (starts == 1u) {
        process_run_thread(p, t);
    }
    if (ends == 1u) {
        done = process_end_part(t, part);
    } else if (dying == 1u && part == PROCESS_PART_START) {
        done = PROCESS_PART_NOTIFICATION;
    }
    uint32_t next = step - part + done;
    /* What follows the last part of a thread is a step of its own. */
    if (ends == 1u || next < PROCESS_PARTS * count) {
        return next;
    }
    if (dying == 1u) {
        process_ask_next(p, cpu);
    }
    return NONE;
}

/* The process that this CPU must serve next, or NONE. */
static uint32_t process_take_request(uint32_t cpu)
{
    uint32_t p = NONE;
    spinlock_acquire(LOCK_PROCESS_REQUEST_BASE + cpu);
    if (request[cpu].processes != 0u) {
        p = arch_highest_bit(request[cpu].processes);
        request[cpu].processes = request[cpu].processes & ~(1ul << p);
    }
    spinlock_release(LOCK_PROCESS_REQUEST_BASE + cpu);
    return p;
}

void process_serve_requests(void)
{
    uint32_t cpu = arch_cpu();
    uint32_t p = request[cpu].process;
    if (p == NONE) {
        p = process_take_request(cpu);
        if (p == NONE) {
            return;
        }
        request[cpu].process = p;
        request[cpu].next = 0u;
    } else {
        uint32_t next = process_serve(p, request[cpu].next);
        request[cpu].next = next;
        if (next == NONE) {
            request[cpu].process = NONE;
        }
    }
    /* For what is left, of this process or of another. */
    intc_send(cpu, VECTOR_PROCESS);
}

void process_ask(uint32_t p, uint32_t cpu)
{
    spinlock_acquire(LOCK_PROCESS_REQUEST_BASE + cpu);
    request[cpu].processes = request[cpu].processes | (1ul << p);
    spinlock_release(LOCK_PROCESS_REQUEST_BASE + cpu);
    intc_send(cpu, VECTOR_PROCESS);
}
