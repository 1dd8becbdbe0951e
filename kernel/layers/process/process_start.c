/* Starting a process's first thread, and its others. */
#include "abi.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "spinlock.h"
#include "thread.h"

/* The registers of a process's first thread. Constant after start-up. */
struct first_start {
    uint64_t entry;
    uint64_t stack;
    uint64_t argument;
};

static struct first_start first_start[NUM_PROCESS];
static uint64_t process_name[NUM_PROCESS * PROCESS_NAME_WORDS]; /* constant after start-up */

void process_define_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument)
{
    first_start[p].entry = entry;
    first_start[p].stack = stack;
    first_start[p].argument = argument;
}

void process_define_name(uint32_t p, uint32_t i, uint64_t word)
{
    process_name[p * PROCESS_NAME_WORDS + i] = word;
}

uint64_t process_name_word(uint32_t p, uint32_t i)
{
    return process_name[p * PROCESS_NAME_WORDS + i];
}

/* 1 if a thread may run with this ip and stack pointer: both are user addresses. */
static uint32_t process_start_valid(uint64_t entry, uint64_t stack)
{
    if (entry >= USER_END || stack > USER_END || entry < USER_BASE) {
        return 0u;
    }
    return 1u;
}

/* STATUS_OK if p has all that it starts with and has not started, else ERR_BAD_STATE. Requires: p's lock held, no CPU builds p. */
static uint32_t process_startable(uint32_t p)
{
    uint32_t state = process_state_locked(p);
    uint32_t created = process_created(p);
    if (state != PROCESS_LOADING || created == 0u) {
        return ERR_BAD_STATE;
    }
    return STATUS_OK;
}

uint32_t process_start(uint32_t p, uint64_t entry, uint64_t stack, uint64_t argument)
{
    uint64_t first_entry = entry;
    uint64_t first_stack = stack;
    uint64_t first_argument = argument;
    uint32_t status = STATUS_OK;
    if (entry == 0u) {
        first_entry = first_start[p].entry;
        first_stack = first_start[p].stack;
        first_argument = first_start[p].argument;
    }
    uint32_t t = process_first_thread(p);
    uint32_t valid = process_start_valid(first_entry, first_stack);
    uint32_t spare = 0u;
    process_lock(p);
    uint32_t building = process_being_built(p);
    if (building == 1u) {
        status = STATUS_RESTART;
    } else {
        status = process_startable(p);
    }
    if (status == STATUS_OK && valid == 0u) {
        status = ERR_BAD_ADDRESS;
    }
    if (status == STATUS_OK) {
        spare = process_has_spare(p);
    }
    if (spare == 1u) {
        process_build_begin(p);
        status = STATUS_RESTART;
    }
    if (status == STATUS_OK) {
        process_set_state(p, PROCESS_RUNNING);
        process_begin_thread(p, t, first_entry, first_stack, first_argument);
    }
    process_unlock(p);
    if (spare == 1u) {
        process_drop_spare(p);
        process_build_end(p, PROCESS_LOADING);
    }
    if (status == STATUS_OK) {
        uint32_t cpu = thread_cpu(t);
        process_ask(p, cpu);
    }
    return status;
}

/* One step: makes a table for the message page of thread t, number index of p; maps the page; or gives it to t. Returns
 * STATUS_RESTART, also if another thread makes it; ERR_QUOTA; ERR_NO_MEMORY. Requires: no lock held. */
static uint32_t process_message_page(uint32_t p, uint32_t index, uint32_t t)
{
    uint64_t vaddr = MESSAGE_VADDR + (uint64_t)index * 4096ul;
    uint32_t frame = pagemap_frame(p, vaddr, PROT_READ);
    if (frame != NONE) {
        process_lock(p);
        thread_set_message_frame(t, frame);
        process_unlock(p);
        return STATUS_RESTART;
    }
    uint32_t status = STATUS_OK;
    uint32_t missing = pagemap_missing(p, vaddr);
    if (missing != 0u) {
        status = process_add_table(p, vaddr, missing + 1u);
        return status;
    }
    status = process_place_new(p, vaddr, PROT_READ | PROT_WRITE);
    if (status == STATUS_OK || status == ERR_ALREADY_MAPPED) {
        status = STATUS_RESTART; /* the next step finds it */
    }
    return status;
}

uint32_t process_start_thread(uint32_t index, uint64_t entry, uint64_t stack, uint64_t argument)
{
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t status = STATUS_OK;
    uint32_t valid = process_start_valid(entry, stack);
    uint32_t first = process_first_thread(p);
    uint32_t count = process_num_threads(p);
    if (index >= count) {
        return ERR_BAD_ARGUMENT;
    }
    if (valid == 0u) {
        return ERR_BAD_ADDRESS;
    }
    uint32_t t = first + index;
    process_lock(p);
    uint32_t state = process_state_locked(p);
    uint32_t alive = process_thread_alive(t);
    uint32_t frame = thread_message_frame(t); /* perhaps of an earlier run of the thread */
    if (state != PROCESS_RUNNING || alive == 1u) {
        status = ERR_BAD_STATE;
    } else if (frame == NONE) {
        status = STATUS_RESTART;
    } else {
        process_begin_thread(p, t, entry, stack, argument);
    }
    process_unlock(p);
    if (status == STATUS_RESTART) {
        status = process_message_page(p, index, t);
    }
    if (status == STATUS_OK) {
        uint32_t cpu = thread_cpu(t);
        process_ask(p, cpu);
    }
    return status;
}
