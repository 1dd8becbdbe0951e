/* The dispatcher: threads of a domain, switched in user mode, so that at most one of them runs whatever happens. */
#include "dispatch.h"

#include "ashlar/print.h"
#include "domain_internal.h"

#define STACK_BYTES 16384u

struct domain_thread {
    uint64_t stack_pointer; /* while it does not run */
    struct mail_set waits_for;
    struct mail mail;
    enum { THREAD_NONE, THREAD_NEW, THREAD_WAITS, THREAD_RUNS } state;
    void (*function)(void);
};

static struct domain_thread thread[DOMAIN_THREADS];
static uint8_t stack[DOMAIN_THREADS][STACK_BYTES] __attribute__((aligned(16)));
static uint32_t current;
uint32_t dispatch_threads;

/* Saves the running thread's registers on its stack, that in *from, and goes on with the stack `to`. */
void dispatch_switch(uint64_t *from, uint64_t to);
/* Where a new thread begins: calls dispatch_begin. */
void dispatch_entry(void);

void dispatch_start(void)
{
    dispatch_threads = 1;
    thread[0].state = THREAD_RUNS;
    domain_current = &thread[0].mail;
}

void domain_thread(void (*function)(void))
{
    uint32_t number = 0;

    while (number < dispatch_threads && thread[number].state != THREAD_NONE) {
        number++;
    }
    if (number == DOMAIN_THREADS) {
        panic("a domain has at most %u threads\n", DOMAIN_THREADS);
    }
    dispatch_threads = number == dispatch_threads ? number + 1 : dispatch_threads;
    struct domain_thread *new = &thread[number];
    uint64_t *top = (uint64_t *)(stack[number] + STACK_BYTES) - 8;
    top[6] = (uint64_t)dispatch_entry; /* above the six registers that dispatch_switch restores */
    new->stack_pointer = (uint64_t)top;
    new->function = function;
    new->state = THREAD_NEW;
}

static int can_run(const struct domain_thread *t)
{
    return t->state == THREAD_NEW || (t->state == THREAD_WAITS && domain_has_pending(&t->waits_for));
}

int dispatch_all_sets(struct mail_set *set)
{
    for (uint32_t i = 0; i < dispatch_threads; i++) {
        if (thread[i].state == THREAD_NEW) {
            return 0;
        }
        for (uint32_t port = 0; thread[i].state == THREAD_WAITS && port < DOMAIN_PORTS; port++) {
            set->mask[port] |= thread[i].waits_for.mask[port];
        }
    }
    return 1;
}

/* The next thread after the running one that can run; the running one itself if there is none. */
static uint32_t next_thread(void)
{
    for (uint32_t i = 1; i < dispatch_threads; i++) {
        uint32_t other = (current + i) % dispatch_threads;
        if (can_run(&thread[other])) {
            return other;
        }
    }
    return current;
}

static void switch_to(uint32_t next)
{
    struct domain_thread *old = &thread[current];

    current = next;
    thread[next].state = THREAD_RUNS;
    domain_current = &thread[next].mail;
    dispatch_switch(&old->stack_pointer, thread[next].stack_pointer);
}

int dispatch(const struct mail_set *set)
{
    uint32_t next = next_thread();
    if (next == current) {
        return 0;
    }
    thread[current].waits_for = *set;
    thread[current].state = THREAD_WAITS;
    switch_to(next);
    return 1;
}

/* The first thing a new thread does, and the last: its stack is never returned from. */
void dispatch_begin(void)
{
    thread[current].function();
    thread[current].state = THREAD_NONE;
    for (;;) {
        uint32_t next = next_thread();
        if (next != current) {
            switch_to(next);
        }
        /* None can run: the first thread waits in its AWAIT for all of them. */
        thread[0].state = THREAD_RUNS;
        switch_to(0);
    }
}
