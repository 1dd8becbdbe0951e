/* Threads and the switch between them. */
#include "thread.h"

#include "arch.h"
#include "pagemap.h"
#include "trace.h"

/* One cache line each, with all fields that sending a message reads; 512 bytes apart, kernel.ld says why. thread.h says what
 * guards each field. */
struct thread {
    uint32_t process; /* NONE: idle thread */
    uint32_t cpu;
    uint32_t priority;
    uint32_t base_priority;
    uint32_t state;
    uint32_t wait_kind;
    uint32_t wait_object;
    uint32_t message_frame;
    uint32_t root; /* root of its process's page map; NONE: runs in any map */
    uint32_t spare[119];
};

static struct thread thread[NUM_THREAD];

/* Requires: start-up. */
static void thread_set(uint32_t t, uint32_t process, uint32_t cpu, uint32_t priority)
{
    thread[t].process = process;
    thread[t].cpu = cpu;
    thread[t].priority = priority;
    thread[t].base_priority = priority;
    thread[t].state = THREAD_UNUSED;
    thread[t].wait_kind = WAIT_NONE;
    thread[t].wait_object = NONE;
    thread[t].message_frame = NONE;
    thread[t].root = NONE;
}

void thread_init(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        thread_set(t, NONE, 0u, 0u);
    }
    for (uint32_t cpu = 0u; cpu < NUM_CPU; cpu = cpu + 1u) {
        thread_set(cpu, NONE, cpu, 0u);
        thread[cpu].state = THREAD_RUNNING;
    }
}

void thread_define(uint32_t t, uint32_t process, uint32_t cpu, uint32_t priority)
{
    thread_set(t, process, cpu, priority);
}

void thread_reset(uint32_t t, uint32_t root)
{
    thread[t].priority = thread[t].base_priority;
    thread[t].state = THREAD_BLOCKED;
    thread[t].wait_kind = WAIT_NONE;
    thread[t].wait_object = NONE;
    thread[t].root = root;
    arch_thread_init(t);
}

uint32_t thread_current(void)
{
    uint32_t current = arch_current();
    return current;
}

uint32_t thread_process(uint32_t t)
{
    return thread[t].process;
}

uint32_t thread_cpu(uint32_t t)
{
    return thread[t].cpu;
}

uint32_t thread_priority(uint32_t t)
{
    return thread[t].priority;
}

uint32_t thread_base_priority(uint32_t t)
{
    return thread[t].base_priority;
}

void thread_set_priority(uint32_t t, uint32_t priority)
{
    thread[t].priority = priority;
}

uint32_t thread_state(uint32_t t)
{
    return thread[t].state;
}

void thread_set_state(uint32_t t, uint32_t state)
{
    thread[t].state = state;
}

uint32_t thread_wait_kind(uint32_t t)
{
    return thread[t].wait_kind;
}

uint32_t thread_wait_object(uint32_t t)
{
    return thread[t].wait_object;
}

void thread_set_wait(uint32_t t, uint32_t kind, uint32_t object)
{
    thread[t].wait_kind = kind;
    thread[t].wait_object = object;
}

void thread_set_wait_kind(uint32_t t, uint32_t kind)
{
    thread[t].wait_kind = kind;
}

void thread_end_wait(uint32_t t)
{
    thread[t].wait_kind = WAIT_NONE;
}

uint32_t thread_ending(uint32_t t)
{
    uint32_t ending = arch_ends_at_exit(t);
    return ending;
}

void thread_set_ending(uint32_t t)
{
    arch_end_at_exit(t);
}

uint32_t thread_message_frame(uint32_t t)
{
    return thread[t].message_frame;
}

void thread_set_message_frame(uint32_t t, uint32_t frame)
{
    thread[t].message_frame = frame;
}

void thread_switch(uint32_t to)
{
    uint32_t root = thread[to].root;
    uint32_t loaded = arch_loaded_root();
#if TRACE
    trace_event(TRACE_SWITCH, to);
#endif
    /* A thread without user half runs in any loaded map: the kernel's half is the same in all. */
    if (root != loaded && root != NONE) {
        pagemap_load(root);
    }
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        arch_fpu_leave();
    }
    arch_switch(to);
}

void thread_switch_to_user(uint32_t to)
{
    uint32_t root = thread[to].root;
    uint32_t loaded = arch_loaded_root();
#if TRACE
    trace_event(TRACE_SWITCH, to);
#endif
    if (root != loaded) {
        pagemap_load(root);
    }
    arch_switch(to);
}

void thread_leave_space(void)
{
    uint32_t current = arch_current();
    uint32_t loaded = arch_loaded_root();
    thread[current].root = NONE;
    if (loaded != NONE) {
        pagemap_load_kernel();
    }
}

#if DEBUG
#include "thread_check.c"
#endif
