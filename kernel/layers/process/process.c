/* The life of processes: EMPTY, LOADING, RUNNING, DYING, EMPTY. */
#include "process.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "endpoint.h"
#include "frame.h"
#include "notify.h"
#include "pagemap.h"
#include "process_parts.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "tlb.h"

/* Two cache lines. Guarded by LOCK_PROCESS_BASE + p: state, alive, cause, stage, waiter, undo. The rest is constant after
 * start-up. That it is DYING stands in an atomic cell too, which every way out of the kernel reads without the lock. */
struct process {
    uint32_t state; /* PROCESS_* */
    uint32_t alive; /* threads started and not ended */
    uint32_t cause; /* END_* of the last end */
    uint32_t stage; /* of the teardown */
    uint32_t waiter; /* thread that waits until this is EMPTY, or NONE */
    uint32_t parent;
    uint32_t first_thread;
    uint32_t num_threads;
    uint32_t fault_endpoint;
    uint32_t quota;
    uint32_t cpus; /* bit c: a thread of it belongs to CPU c */
    uint32_t death_notification;
    uint64_t death_bits;
    uint64_t entry;
    uint64_t stack;
    uint64_t argument;
    uint32_t undo; /* of a LOADING one: the error for which what was made is taken away again; STATUS_OK: none */
    uint32_t spare0;
    uint64_t spare[5];
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
        arch_atomic_store(CELL_DYING_BASE + p, 0u);
        process[p].alive = 0u;
        process[p].cause = END_EXIT;
        process[p].waiter = NONE;
        process[p].undo = STATUS_OK;
        process[p].parent = NONE;
        process[p].first_thread = 0u;
        process[p].num_threads = 0u;
        process[p].fault_endpoint = NONE;
        process[p].death_notification = NONE;
    }
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        process_thread[t].alive = 0u;
    }
    process_load_init();
    process_thread_init();
}

void process_define(uint32_t p, uint32_t parent, uint32_t quota, uint32_t first_thread, uint32_t num_threads,
                    uint32_t fault_endpoint)
{
    uint32_t cpus = 0u;
    for (uint32_t i = 0u; i < num_threads; i = i + 1u) {
        uint32_t cpu = thread_cpu(first_thread + i);
        cpus = cpus | (1u << cpu);
    }
    process[p].parent = parent;
    process[p].quota = quota;
    process[p].first_thread = first_thread;
    process[p].num_threads = num_threads;
    process[p].fault_endpoint = fault_endpoint;
    process[p].cpus = cpus;
    tlb_set_cpus(p, cpus);
}

void process_define_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument)
{
    process[p].entry = entry;
    process[p].stack = stack;
    process[p].argument = argument;
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

uint32_t process_being_undone(uint32_t p)
{
    if (process[p].undo != STATUS_OK) {
        return 1u;
    }
    return 0u;
}

uint32_t process_state_locked(uint32_t p)
{
    return process[p].state;
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
    uint64_t dying = arch_atomic_load(CELL_DYING_BASE + p);
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

/* The container of p's parent. */
static uint32_t process_payer(uint32_t p)
{
    uint32_t payer = process[p].parent;
    if (payer == NONE) {
        payer = CONTAINER_ROOT;
    }
    return payer;
}

/* Its threads have no message pages yet. Requires: p's lock held. */
static void process_forget_messages(uint32_t p)
{
    for (uint32_t i = 0u; i < NUM_THREAD && i < process[p].num_threads; i = i + 1u) {
        thread_set_message_frame(process[p].first_thread + i, NONE);
    }
}

/* Container, page map, and the message page of the first thread. Without a message page all of it has to be taken away again,
 * piece by piece: then p is LOADING, so that it can also be killed. Requires: p's lock held, p EMPTY. */
static uint32_t process_make(uint32_t p)
{
    uint32_t payer = process_payer(p);
    uint32_t status = container_split(payer, p, process[p].quota);
    if (status != STATUS_OK) {
        return status;
    }
    status = pagemap_create(p);
    if (status != STATUS_OK) {
        container_merge(p);
        return status;
    }
    status = process_give_page(p, MESSAGE_VADDR, PROT_READ | PROT_WRITE, NONE, 0u);
    if (status != STATUS_OK) {
        process_forget_messages(p);
        process[p].state = PROCESS_LOADING;
        process[p].stage = 0u;
        process[p].undo = status;
        return STATUS_RESTART;
    }
    return status;
}

/* One piece of undoing. Returns STATUS_RESTART, or the error that creation ends with. Requires: p's lock held. */
static uint32_t process_undo(uint32_t p)
{
    uint32_t status = process[p].undo;
    uint32_t more = pagemap_destroy_step(p);
    if (more == 1u) {
        return STATUS_RESTART;
    }
    container_merge(p);
    process[p].undo = STATUS_OK;
    process[p].state = PROCESS_EMPTY;
    return status;
}

/* Requires: p's lock held, p just made. */
static void process_begin(uint32_t p)
{
    uint32_t frame = pagemap_frame(p, MESSAGE_VADDR, PROT_READ);
    process_forget_messages(p);
    thread_set_message_frame(process[p].first_thread, frame);
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        uint32_t owner = endpoint_owner(e);
        if (owner == p) {
            endpoint_open(e);
        }
    }
    process_load_reset(p);
    process[p].state = PROCESS_LOADING;
    process[p].stage = 0u;
}

uint32_t process_create(uint32_t p)
{
    uint32_t status = ERR_BAD_STATE;
    process_lock(p);
    uint32_t done = process_load_done(p);
    if (process[p].undo != STATUS_OK) {
        status = process_undo(p);
    } else if (process[p].state == PROCESS_LOADING && done == 0u) {
        status = process_load_page(p);
    } else if (process[p].state == PROCESS_EMPTY && process[p].num_threads > 0u) {
        status = process_make(p);
        if (status == STATUS_OK) {
            process_begin(p);
        }
    }
    done = process_load_done(p);
    if (status == STATUS_OK && done == 0u) {
        status = STATUS_RESTART;
    }
    process_unlock(p);
    return status;
}

/* 1 if a thread may run with this ip and stack pointer: both are user addresses. */
static uint32_t process_start_valid(uint64_t entry, uint64_t stack)
{
    if (entry >= USER_END || stack > USER_END || entry < USER_BASE) {
        return 0u;
    }
    return 1u;
}

/* Requires: p's lock held; t, one of p's threads, is not alive. */
static void process_start_alive(uint32_t p, uint32_t t, uint64_t entry, uint64_t stack, uint64_t argument)
{
    process_thread[t].alive = 1u;
    process[p].alive = process[p].alive + 1u;
    process_plan_start(t, entry, stack, argument);
}

uint32_t process_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument)
{
    uint64_t first_entry = entry;
    uint64_t first_stack = stack;
    uint64_t first_argument = argument;
    uint32_t status = STATUS_OK;
    if (entry == 0u) {
        first_entry = process[p].entry;
        first_stack = process[p].stack;
        first_argument = process[p].argument;
    }
    uint32_t valid = process_start_valid(first_entry, first_stack);
    process_lock(p);
    uint32_t done = process_load_done(p);
    if (process[p].state != PROCESS_LOADING || done == 0u || process[p].undo != STATUS_OK) {
        status = ERR_BAD_STATE;
    }
    if (status == STATUS_OK && valid == 0u) {
        status = ERR_BAD_ADDRESS;
    }
    if (status == STATUS_OK) {
        process[p].state = PROCESS_RUNNING;
        process_start_alive(p, process[p].first_thread, first_entry, first_stack, first_argument);
    }
    process_unlock(p);
    if (status == STATUS_OK) {
        uint32_t cpu = thread_cpu(process[p].first_thread);
        process_ask(p, 1u << cpu);
    }
    return status;
}

/* Gives thread t, number index of p, its message page unless an earlier life of it left one. */
static uint32_t process_message_page(uint32_t p, uint32_t index, uint32_t t)
{
    uint64_t vaddr = MESSAGE_VADDR + (uint64_t)index * 4096ul;
    uint32_t status = STATUS_OK;
    uint32_t frame = thread_message_frame(t);
    if (frame == NONE) {
        spinlock_acquire(LOCK_SPACE_BASE + p);
        status = process_give_page(p, vaddr, PROT_READ | PROT_WRITE, NONE, 0u);
        spinlock_release(LOCK_SPACE_BASE + p);
        if (status == STATUS_OK) {
            frame = pagemap_frame(p, vaddr, PROT_READ);
            thread_set_message_frame(t, frame);
        }
    }
    return status;
}

uint32_t process_start_thread(uint32_t index, uint64_t entry, uint64_t stack, uint64_t argument)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t status = STATUS_OK;
    uint32_t valid = process_start_valid(entry, stack);
    if (index >= process[p].num_threads) {
        return ERR_BAD_ARGUMENT;
    }
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t t = process[p].first_thread + index;
    process_lock(p);
    if (process[p].state != PROCESS_RUNNING || process_thread[t].alive == 1u) {
        status = ERR_BAD_STATE;
    } else {
        status = process_message_page(p, index, t);
    }
    if (status == STATUS_OK) {
        process_start_alive(p, t, entry, stack, argument);
    }
    process_unlock(p);
    if (status == STATUS_OK) {
        uint32_t cpu = thread_cpu(t);
        process_ask(p, 1u << cpu);
    }
    return status;
}

/* Requires: p's lock held, p LOADING or RUNNING. */
static void process_begin_end(uint32_t p, uint32_t cause)
{
    process[p].state = PROCESS_DYING;
    process[p].cause = cause;
    process[p].stage = 0u;
    process[p].undo = STATUS_OK;
    arch_atomic_store(CELL_DYING_BASE + p, 1u);
}

uint32_t process_kill(uint32_t p, uint32_t cause)
{
    uint32_t status = STATUS_OK;
    process_lock(p);
    uint32_t state = process[p].state;
    if (state == PROCESS_EMPTY) {
        status = ERR_BAD_STATE;
    }
    if (state == PROCESS_LOADING) {
        /* It has no thread yet that could return its resources: the first one is started, and finds itself dying before
         * it ever reaches user mode. */
        process_start_alive(p, process[p].first_thread, USER_BASE, USER_BASE, 0u);
    }
    if (state == PROCESS_LOADING || state == PROCESS_RUNNING) {
        process_begin_end(p, cause);
    }
    process_unlock(p);
    if (state == PROCESS_LOADING || state == PROCESS_RUNNING) {
        process_ask(p, process[p].cpus);
    }
    return status;
}

void process_exit(uint32_t cause)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    process_kill(p, cause);
}

uint32_t process_end_thread(void)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t last = 0u;
    endpoint_thread_ended();
    sched_clear_deadline(current); /* of a guest run that was broken off */
    /* Once alive is down the page map may be destroyed at any moment: this CPU leaves it before. */
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
        sched_prepare_block();
        block = 1u;
    }
    process_unlock(child);
    if (block == 1u) {
        sched_block();
    }
}

void process_finish(uint32_t p)
{
    container_merge(p);
    process_lock(p);
    uint32_t waiter = process[p].waiter;
    process[p].waiter = NONE;
    process[p].state = PROCESS_EMPTY;
    arch_atomic_store(CELL_DYING_BASE + p, 0u);
    if (waiter != NONE) {
        thread_end_wait(waiter);
        sched_ready(waiter);
    }
    process_unlock(p);
    if (process[p].death_notification != NONE) {
        notify_signal(process[p].death_notification, process[p].death_bits);
    }
}

/* What must hold of one process. */
static uint32_t process_check_one(uint32_t p)
{
    uint32_t alive = 0u;
    uint32_t used = container_usage(p);
    uint32_t quota = container_quota(p);
    for (uint32_t i = 0u; i < process[p].num_threads; i = i + 1u) {
        alive = alive + process_thread[process[p].first_thread + i].alive;
    }
    if (process[p].state > PROCESS_DYING) {
        return 1u;
    }
    if (process[p].alive != alive) {
        return 2u;
    }
    if (process[p].state == PROCESS_EMPTY && (used != 0u || quota != 0u)) {
        return 3u;
    }
    if (process[p].state == PROCESS_LOADING && alive != 0u) {
        return 4u;
    }
    if (process[p].state == PROCESS_RUNNING && alive == 0u) {
        return 5u;
    }
    if (process[p].state != PROCESS_EMPTY && process[p].parent != NONE) {
        if (process[process[p].parent].state == PROCESS_EMPTY) {
            return 6u;
        }
    }
    return 0u;
}

uint32_t process_check(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        uint32_t broken = process_check_one(p);
        if (broken != 0u) {
            return broken;
        }
    }
    return 0u;
}
