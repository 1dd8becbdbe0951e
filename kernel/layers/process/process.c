/* The life of processes: EMPTY, LOADING, RUNNING, DYING, EMPTY. */
#include "process.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "endpoint.h"
#include "notify.h"
#include "process_parts.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "tlb.h"

/* One cache line. Guarded by LOCK_PROCESS_BASE + p: state, alive, cause, stage, waiter. The rest is constant after
 * start-up. An atomic cell also records that p is DYING: every kernel exit reads it without the lock. */
struct process {
    uint32_t state;  /* PROCESS_* */
    uint32_t alive;  /* threads started and not ended */
    uint32_t cause;  /* END_* of the last end */
    uint32_t stage;  /* of the teardown */
    uint32_t waiter; /* thread that waits until this process is EMPTY, or NONE */
    uint32_t parent;
    uint32_t first_thread;
    uint32_t num_threads;
    uint32_t fault_endpoint;
    uint32_t quota;
    uint64_t cpus; /* bit c: a thread of it belongs to CPU c */
    uint64_t death_bits;
    uint32_t death_notification;
    uint32_t spare;
};

/* Guarded by LOCK_PROCESS_BASE + the thread's process. */
struct process_thread {
    uint32_t alive;
};

static struct process process[NUM_PROCESS];
static struct process_thread process_thread[NUM_THREAD];

void process_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        process[p].state = PROCESS_EMPTY;
        arch_atomic_store(CELL_PROCESS_DYING_BASE + p, 0u);
        process[p].alive = 0u;
        process[p].cause = END_EXIT;
        process[p].waiter = NONE;
        process[p].parent = NONE;
        process[p].first_thread = 0u;
        process[p].num_threads = 0u;
        process[p].fault_endpoint = NONE;
        process[p].death_notification = NONE;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        process_thread[t].alive = 0u;
    }
    process_create_init();
    process_load_init();
    process_memory_init();
    process_copy_init();
    process_thread_init();
    process_unmap_init();
}

void process_define(uint32_t p, uint32_t parent, uint32_t quota, uint32_t first_thread, uint32_t num_threads,
                    uint32_t fault_endpoint)
{
    uint64_t cpus = 0ul;
    for (uint32_t i = 0u; i < num_threads; i = i + 1u) {
        uint32_t cpu = thread_cpu(first_thread + i);
        cpus = cpus | (1ul << cpu);
    }
    process[p].parent = parent;
    process[p].quota = quota;
    process[p].first_thread = first_thread;
    process[p].num_threads = num_threads;
    process[p].fault_endpoint = fault_endpoint;
    process[p].cpus = cpus;
    tlb_set_cpus(p, cpus);
}

void process_set_death(uint32_t p, uint32_t notification, uint64_t bits)
{
    process[p].death_notification = notification;
    process[p].death_bits = bits;
}

void process_lock(uint32_t p)
{
    spinlock_acquire(LOCK_PROCESS_BASE + p);
}

void process_unlock(uint32_t p)
{
    spinlock_release(LOCK_PROCESS_BASE + p);
}

uint32_t process_first_thread(uint32_t p)
{
    return process[p].first_thread;
}

uint32_t process_num_threads(uint32_t p)
{
    return process[p].num_threads;
}

uint32_t process_thread_alive(uint32_t t)
{
    return process_thread[t].alive;
}

uint32_t process_quota(uint32_t p)
{
    return process[p].quota;
}

uint32_t process_state_locked(uint32_t p)
{
    return process[p].state;
}

void process_set_state(uint32_t p, uint32_t state)
{
    process[p].state = state;
    process[p].stage = 0u;
}

uint32_t process_state(uint32_t p)
{
    process_lock(p);
    uint32_t state = process[p].state;
    process_unlock(p);
    return state;
}

uint32_t process_end_cause(uint32_t p)
{
    process_lock(p);
    uint32_t cause = process[p].cause;
    process_unlock(p);
    return cause;
}

uint32_t process_parent(uint32_t p)
{
    return process[p].parent;
}

uint32_t process_fault_endpoint(uint32_t p)
{
    return process[p].fault_endpoint;
}

uint32_t process_dying(uint32_t p)
{
    if (p >= NUM_PROCESS) {
        return 0u;
    }
    uint64_t dying = arch_atomic_load(CELL_PROCESS_DYING_BASE + p);
    return (uint32_t)dying;
}

uint32_t process_stage(uint32_t p)
{
    return process[p].stage;
}

void process_set_stage(uint32_t p, uint32_t stage)
{
    process_lock(p);
    process[p].stage = stage;
    process_unlock(p);
}

static void process_ask_highest(uint32_t p, uint64_t cpus)
{
    if (cpus != 0ul) {
        uint32_t cpu = arch_highest_bit(cpus);
        process_ask(p, cpu);
    }
}

void process_ask_first(uint32_t p)
{
    process_ask_highest(p, process[p].cpus);
}

void process_ask_next(uint32_t p, uint32_t cpu)
{
    process_ask_highest(p, process[p].cpus & ((1ul << cpu) - 1ul));
}

void process_begin_thread(uint32_t p, uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument)
{
    process_thread[t].alive = 1u;
    process[p].alive = process[p].alive + 1u;
    process_plan_start(t, entry, stack, argument);
}

/* Requires: p's lock held, p RUNNING, or LOADING and no CPU builds it. */
static void process_begin_end(uint32_t p, uint32_t cause)
{
    process_set_state(p, PROCESS_DYING);
    process[p].cause = cause;
    process_create_forget(p);
    arch_atomic_store(CELL_PROCESS_DYING_BASE + p, 1u);
}

/* Requires: as process_begin_end. No thread of a LOADING process exists yet that could free its resources: the first one is
 * started, and tears the process down before it ever reaches user mode. */
static void process_end_loading(uint32_t p, uint32_t cause)
{
    process_begin_thread(p, process[p].first_thread, USER_BASE, USER_BASE, 0u);
    process_begin_end(p, cause);
}

uint32_t process_kill(uint32_t p, uint32_t cause)
{
    uint32_t status = STATUS_OK;
    uint32_t ends = 0u;
    process_lock(p);
    uint32_t state = process[p].state;
    uint32_t building = process_being_built(p);
    if (state == PROCESS_EMPTY) {
        status = ERR_BAD_STATE;
    } else if (state == PROCESS_RUNNING) {
        process_begin_end(p, cause);
        ends = 1u;
    } else if (state == PROCESS_LOADING) {
        if (building == 1u) {
            status = process_request_end(p, cause);
        } else {
            process_end_loading(p, cause);
            ends = 1u;
        }
    }
    process_unlock(p);
    if (ends == 1u) {
        process_ask_first(p);
    }
    return status;
}

void process_exit(uint32_t cause)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    process_kill(p, cause);
}

void process_leave_others(void)
{
    uint32_t current = thread_current();
    endpoint_thread_ended();
    sched_clear_deadline(current); /* of an interrupted guest run */
}

uint32_t process_end_thread(void)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t last = 0u;
    /* Once alive is decremented the page map may be destroyed at any moment: this CPU leaves it before. */
    thread_leave_space();
    process_lock(p);
    process_thread[current].alive = 0u;
    process[p].alive = process[p].alive - 1u;
    if (process[p].alive == 0u) {
        last = 1u;
        if (process[p].state == PROCESS_RUNNING) {
            process_begin_end(p, END_EXIT);
        }
    }
    process_unlock(p);
    if (last == 0u) {
        sched_exit_current();
    }
    return last;
}

void process_wait_empty(uint32_t child)
{
    uint32_t current = thread_current();
    uint32_t block = 0u;
    process_lock(child);
    if (process[child].state != PROCESS_EMPTY) {
        process[child].waiter = current;
        thread_set_wait(current, WAIT_PROCESS, child);
        sched_prepare_block(current);
        block = 1u;
    }
    process_unlock(child);
    if (block == 1u) {
        sched_block();
    }
}

void process_return_quota(uint32_t p)
{
    process_drop_spare(p);
    container_merge(p);
}

void process_finish(uint32_t p)
{
    process_lock(p);
    uint32_t waiter = process[p].waiter;
    process[p].waiter = NONE;
    process[p].state = PROCESS_EMPTY;
    arch_atomic_store(CELL_PROCESS_DYING_BASE + p, 0u);
    if (waiter != NONE) {
        thread_end_wait(waiter);
    }
    process_unlock(p);
    if (waiter != NONE) {
        sched_ready(waiter);
    }
    if (process[p].death_notification != NONE) {
        notify_signal(process[p].death_notification, process[p].death_bits);
    }
}

void process_build_end(uint32_t p, uint32_t state)
{
    process_lock(p);
    uint32_t cause = process_build_finish(p);
    if (process[p].state != state) {
        process_set_state(p, state);
    }
    if (cause != NONE) {
        process_end_loading(p, cause);
    }
    process_unlock(p);
    if (cause != NONE) {
        process_ask_first(p);
    }
}

#if DEBUG
#include "process_check.c"
#endif
