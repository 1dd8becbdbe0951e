/* Wake-ups across CPUs, all at once: threads with real stacks on real CPUs wait for each other's events. No wake-up
 * is lost (the test would hang), none comes twice, and the invariants hold when all threads wait. */
#include <stdio.h>
#include <unistd.h>

#include "arch.h"
#include "hosted.h"
#include "reschedule.h"
#include "queue.h"
#include "sched.h"
#include "spinlock.h"
#include "test.h"
#include "thread.h"
#include "timer.h"

#define NUM_TEST_CPU 4u
#define EACH 5u /* threads of a CPU */
#define NUM (NUM_TEST_CPU * EACH)
#define FIRST NUM_CPU

/* An event counter with one waiter: the smallest object that blocks. Guarded by LOCK_BUFFER_BASE + i. */
struct event {
    uint32_t count;
    uint32_t waiting;
};

static struct event events[NUM];
static uint32_t rounds;
static uint32_t finished;
static uint32_t sent, received;

static void wait_event(uint32_t i)
{
    uint32_t taken = 0;

    spinlock_kernel_enter();
    while (!taken) {
        spinlock_acquire(LOCK_BUFFER_BASE + i % NUM_BUFFER);
        if (events[i].count > 0) {
            events[i].count--;
            taken = 1;
            spinlock_release(LOCK_BUFFER_BASE + i % NUM_BUFFER);
        } else {
            events[i].waiting = 1;
            thread_set_wait(FIRST + i, WAIT_CV, i);
            sched_prepare_block(thread_current());
            spinlock_release(LOCK_BUFFER_BASE + i % NUM_BUFFER);
            sched_block();
        }
    }
    test_reschedule();
    spinlock_kernel_exit();
    __atomic_fetch_add(&received, 1, __ATOMIC_RELAXED);
}

static void send_event(uint32_t i)
{
    __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
    spinlock_kernel_enter();
    spinlock_acquire(LOCK_BUFFER_BASE + i % NUM_BUFFER);
    events[i].count++;
    if (events[i].waiting) {
        events[i].waiting = 0;
        thread_set_wait(FIRST + i, WAIT_NONE, NONE);
        sched_ready(FIRST + i);
    }
    spinlock_release(LOCK_BUFFER_BASE + i % NUM_BUFFER);
    test_reschedule();
    spinlock_kernel_exit();
}

static void serve(uint32_t vector)
{
    if (vector == VECTOR_RESCHEDULE) {
        sched_drain_pending();
    } else if (vector == VECTOR_TIMER) {
        CHECK_EQUAL(test_timer_interrupt(), NONE);
    }
}

static void poll(void)
{
    uint32_t vector = arch_interrupt_poll();

    spinlock_kernel_enter();
    serve(vector);
    test_reschedule();
    spinlock_kernel_exit();
}

/* The first switch to a thread comes here, inside the kernel. */
void trap_leave(void)
{
    test_reschedule();
    spinlock_kernel_exit();
}

/* Thread i sends as many events to thread (i + step) as it waits for from thread (i - step), so the numbers match. */
static void user(uint32_t thread)
{
    uint32_t i = thread - FIRST;

    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t step = 1 + round % (NUM - 1);
        send_event((i + step) % NUM);
        if (round % 3 == 0) {
            poll();
        }
        wait_event(i);
    }
    if (__atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST) == NUM) {
        for (uint32_t cpu = 0; cpu < NUM_TEST_CPU; cpu++) {
            hosted_raise(cpu, VECTOR_RESCHEDULE);
        }
    }
    spinlock_kernel_enter();
    sched_exit_current();
}

static void idle(uint32_t cpu)
{
    spinlock_kernel_enter();
    sched_init_cpu();
    for (uint32_t t = FIRST; t < FIRST + NUM; t++) {
        if (thread_cpu(t) == cpu) {
            thread_reset(t, NONE);
            sched_ready(t);
        }
    }
    while (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) < NUM) {
        test_reschedule();
        spinlock_kernel_exit();
        if (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) < NUM) {
            uint32_t vector = arch_idle();
            spinlock_kernel_enter();
            serve(vector);
        } else {
            spinlock_kernel_enter();
        }
    }
    spinlock_kernel_exit();
}

int main(void)
{
    rounds = (uint32_t)test_operations(20000) / NUM;
    alarm(300); /* a lost wake-up is a hang */
    hosted_reset(NUM_TEST_CPU);
    hosted_clock_real();
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    for (uint32_t i = 0; i < NUM; i++) {
        thread_define(FIRST + i, NONE, i % NUM_TEST_CPU, 10 + i / NUM_TEST_CPU % 3);
    }
    hosted_set_user(user);
    hosted_run_cpus(NUM_TEST_CPU, idle);
    CHECK_EQUAL(finished, NUM);
    CHECK_EQUAL(sent, NUM * rounds);
    CHECK_EQUAL(received, sent);
    for (uint32_t i = 0; i < NUM; i++) {
        CHECK_EQUAL(events[i].count, 0);
        CHECK_EQUAL(thread_state(FIRST + i), THREAD_EXITED);
    }
    CHECK_EQUAL(sched_check(), 0);
    CHECK_EQUAL(queue_check(), 0);
    CHECK_EQUAL(spinlock_check(), 0);
    return TEST_END();
}
