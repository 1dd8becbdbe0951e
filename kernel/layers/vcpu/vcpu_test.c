/* vcpu with a guest whose every entry is a function of this file: when the page is read and written, what survives an
 * interrupt, and why a run ends without an entry. */
#include "vcpu.h"

#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "guest.h"
#include "hosted.h"
#include "notify.h"
#include "npt.h"
#include "reschedule.h"
#include "queue.h"
#include "sched.h"
#include "spinlock.h"
#include "test.h"
#include "thread.h"
#include "timer.h"

#define VM 3u
#define MONITOR 6u
#define FIRST NUM_CPU /* two threads of CPU 0, one of CPU 1 */
#define SECOND (NUM_CPU + 1u)
#define REMOTE (NUM_CPU + 2u)
#define BELL 4u
#define RIP 0x1234u

static uint32_t next_reason;
static uint32_t signal_during; /* 1: CPU 1 signals BELL while the guest runs */
static uint32_t page;

/* The guest moves its ip by one, and says so in info1. */
static uint32_t step(uint32_t vm, uint32_t root, struct hosted_guest *guest)
{
    CHECK_EQUAL(vm, VM);
    CHECK_EQUAL(root, npt_root(VM));
    guest->word[VCPU_RIP]++;
    guest->word[VCPU_EXIT_INFO1] = guest->word[VCPU_RIP];
    if (signal_during) {
        CHECK_EQUAL(hosted_raised(0, VECTOR_RESCHEDULE), 0);
        hosted_set_cpu(1);
        notify_signal(BELL, 8);
        hosted_set_cpu(0);
        CHECK_EQUAL(hosted_raised(0, VECTOR_RESCHEDULE), 1);
        hosted_lower(0, VECTOR_RESCHEDULE);
        return VCPU_EXIT_NONE;
    }
    return next_reason;
}

static void run_thread(uint32_t t)
{
    hosted_set_cpu(thread_cpu(t));
    thread_reset(t, NONE);
    sched_ready(t);
    test_reschedule();
    CHECK_EQUAL(thread_current(), t);
}

static void start(void)
{
    hosted_reset(2);
    hosted_simulate_switch(1);
    hosted_guest_set_supported(1);
    hosted_guest_set_step(step);
    queue_init();
    thread_init();
    timer_init();
    sched_init();
    for (uint32_t cpu = 0; cpu < 2; cpu++) {
        hosted_set_cpu(cpu);
        sched_init_cpu();
    }
    container_init(1000);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 1000);
    notify_init();
    notify_define(BELL, MONITOR);
    notify_open(BELL);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, MONITOR, 100), STATUS_OK);
    thread_define(FIRST, MONITOR, 0, 100);
    thread_define(SECOND, MONITOR, 0, 101);
    thread_define(REMOTE, MONITOR, 1, 100);
    run_thread(REMOTE);
    run_thread(FIRST);
    next_reason = VCPU_EXIT_IO;
    signal_during = 0;
}

static void create(void)
{
    CHECK_EQUAL(npt_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_RESTART);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_RESTART);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_OK);
    page = vcpu_page(VM);
    arch_frame_write(page, VCPU_RIP, RIP);
}

/* All resources are freed, also in the middle of a run. */
static void end(void)
{
    CHECK_EQUAL(vcpu_check(), 0);
    vcpu_destroy(VM);
    vcpu_destroy(VM);
    while (npt_destroy_step(VM)) {
    }
    CHECK_EQUAL(vcpu_page(VM), NONE);
    CHECK_EQUAL(container_usage(MONITOR), 0);
    CHECK_EQUAL(frame_check(), 0);
}

static uint64_t guest_rip(void)
{
    return arch_frame_read(page, VCPU_RIP);
}

/* As the system call does: inside the kernel lock, where there is one. */
static uint32_t enter_and_run(uint32_t vm, uint64_t deadline, uint32_t notification)
{
    spinlock_kernel_enter();
    uint32_t status = vcpu_run(vm, deadline, notification);
    spinlock_kernel_exit();
    return status;
}

static void test_create(void)
{
    start();
    hosted_guest_set_supported(0);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), ERR_NOT_SUPPORTED);
    hosted_guest_set_supported(1);
    CHECK_EQUAL(container_split(CONTAINER_ROOT, MONITOR + 1, 0), STATUS_OK);
    CHECK_EQUAL(vcpu_create(VM, MONITOR + 1), ERR_QUOTA);
    CHECK_EQUAL(vcpu_page(VM), NONE);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE);
    for (uint32_t steps = 1; steps <= 2; steps++) { /* it ends behind each step */
        for (uint32_t i = 0; i < steps; i++) {
            CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_RESTART);
        }
        CHECK_EQUAL(hosted_guest(VM)->flushes, steps - 1);
        CHECK_EQUAL(container_usage(MONITOR), 1);
        CHECK_EQUAL(vcpu_page(VM), NONE);
        CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE);
        end();
    }
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_RESTART);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_RESTART);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), STATUS_OK);
    CHECK_EQUAL(container_usage(MONITOR), 1);
    CHECK_EQUAL(vcpu_create(VM, MONITOR), ERR_BAD_STATE);
    CHECK_EQUAL(arch_frame_read(vcpu_page(VM), VCPU_RIP), 0xfff0);       /* the reset state shows */
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE); /* no memory */
    CHECK_EQUAL(hosted_guest(VM)->flushes, 1);                           /* no state of an earlier vcpu may remain */
    end();
}

static void test_exits(void)
{
    start();
    create();
    for (uint32_t i = 1; i < 20; i++) {
        next_reason = 1 + i % 15;
        CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
        CHECK_EQUAL(vcpu_reason(VM), next_reason);
        CHECK_EQUAL(arch_frame_read(page, VCPU_EXIT_REASON), next_reason);
        CHECK_EQUAL(guest_rip(), RIP + i);
        CHECK_EQUAL(arch_frame_read(page, VCPU_EXIT_INFO1), RIP + i);
    }
    hosted_guest(VM)->valid = 0;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_INVALID_STATE);
    CHECK_EQUAL(arch_frame_read(page, VCPU_EXIT_REASON), VCPU_EXIT_INVALID_STATE);
    CHECK_EQUAL(hosted_guest(VM)->entries, 19);
    end();
}

/* Between an interrupt and the restart the guest's state is not in the page: changes there have no effect. */
static void test_restart(void)
{
    start();
    create();
    next_reason = VCPU_EXIT_NONE;
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_RESTART);
        arch_frame_write(page, VCPU_RIP, 0xbad);
        CHECK_EQUAL(vcpu_check(), 0);
    }
    run_thread(SECOND);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE); /* FIRST's run is interrupted */
    hosted_set_cpu(1);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE);
    hosted_set_cpu(0);
    sched_prepare_block(thread_current());
    sched_block();
    CHECK_EQUAL(thread_current(), FIRST);
    next_reason = VCPU_EXIT_CPUID;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_CPUID);
    CHECK_EQUAL(guest_rip(), RIP + 6);
    end();
}

/* The first run binds the vcpu to its CPU; a new vcpu may be bound to another. */
static void test_cpu(void)
{
    start();
    create();
    hosted_set_cpu(1);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
    hosted_set_cpu(0);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), ERR_BAD_STATE);
    CHECK_EQUAL(guest_rip(), RIP + 1);
    end();
    create();
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
    end();
}

static void test_deadline(void)
{
    start();
    create();
    hosted_clock_set(1000);
    CHECK_EQUAL(enter_and_run(VM, 5000, NONE), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_IO);
    hosted_clock_set(6000);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
    CHECK_EQUAL(test_timer_interrupt(), NONE); /* cleared at the exit */
    next_reason = VCPU_EXIT_NONE;
    CHECK_EQUAL(enter_and_run(VM, 9000, NONE), STATUS_RESTART);
    CHECK_EQUAL(hosted_alarm(0), 9000);
    hosted_clock_set(9000);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
    CHECK_EQUAL(test_timer_interrupt(), FIRST);
    uint32_t entries = hosted_guest(VM)->entries;
    CHECK_EQUAL(enter_and_run(VM, 9000, NONE), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_DEADLINE);
    CHECK_EQUAL(guest_rip(), RIP + 2);
    CHECK_EQUAL(enter_and_run(VM, 0, NONE), STATUS_RESTART); /* a deadline in the past: at once */
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_TIMER);
    CHECK_EQUAL(enter_and_run(VM, 0, NONE), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_DEADLINE);
    CHECK_EQUAL(hosted_guest(VM)->entries, entries);
    end();
}

static void test_notification(void)
{
    start();
    create();
    notify_signal(BELL, 1);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_NOTIFIED);
    CHECK_EQUAL(hosted_guest(VM)->entries, 0);
    CHECK_EQUAL(notify_poll(BELL), 1);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_IO);
    signal_during = 1;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_RESTART);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_OK);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_NOTIFIED);
    CHECK_EQUAL(notify_poll(BELL), 8);
    CHECK_EQUAL(guest_rip(), RIP + 2);
    /* No CPU watches any longer. */
    hosted_set_cpu(1);
    notify_signal(BELL, 2);
    hosted_set_cpu(0);
    CHECK_EQUAL(hosted_raised(0, VECTOR_RESCHEDULE), 0);
    end();
}

/* What an entry needs is loaded in parts, and so are the reports of a machine check taken: an interrupt that waits ends the call
 * behind one part, and the next call goes on there. */
static void test_parts(void)
{
    start();
    create();
    next_reason = VCPU_EXIT_NONE;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_RESTART);
    hosted_guest(VM)->parts = 4;
    hosted_guest(VM)->reports = 2;
    next_reason = VCPU_EXIT_MACHINE_CHECK;
    hosted_raise(0, VECTOR_RESCHEDULE);
    for (uint32_t i = 1; i <= 3; i++) {
        CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_RESTART);
        CHECK_EQUAL(hosted_guest(VM)->loaded, i);
        CHECK_EQUAL(hosted_guest(VM)->entries, 1);
    }
    hosted_lower(0, VECTOR_RESCHEDULE);
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, NONE), STATUS_OK);
    CHECK_EQUAL(hosted_guest(VM)->loaded, 4);
    CHECK_EQUAL(hosted_guest(VM)->entries, 2);
    CHECK_EQUAL(hosted_guest(VM)->reports, 0);
    CHECK_EQUAL(vcpu_reason(VM), VCPU_EXIT_MACHINE_CHECK);
    end();
}

/* The process ends while its run is interrupted; a new vcpu starts from the page. */
static void test_end_half_way(void)
{
    start();
    create();
    next_reason = VCPU_EXIT_NONE;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_RESTART);
    end();
    create();
    arch_frame_write(page, VCPU_RIP, 77);
    next_reason = VCPU_EXIT_HALT;
    CHECK_EQUAL(enter_and_run(VM, NOTIFY_FOREVER, BELL), STATUS_OK);
    CHECK_EQUAL(guest_rip(), 78);
    frame_remove_owner(page, MONITOR);
    CHECK_EQUAL(vcpu_check(), 2);
    vcpu_destroy(VM);
    end();
}

int main(void)
{
    test_create();
    test_exits();
    test_restart();
    test_cpu();
    test_deadline();
    test_notification();
    test_parts();
    test_end_half_way();
    return TEST_END();
}
