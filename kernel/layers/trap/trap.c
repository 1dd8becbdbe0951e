/* Kernel entries and exit. Every exit is trap_return: it reschedules first, and marks the thread as ending if its process is
 * dying. A thread so marked gets to trap_end in place of its program, with an empty kernel stack. */
#include "trap.h"

#include "abi.h"
#include "arch.h"
#include "cv.h"
#include "device.h"
#include "endpoint.h"
#include "intc.h"
#include "iommu.h"
#include "irq.h"
#include "notify.h"
#include "process.h"
#include "sched.h"
#include "spinlock.h"
#include "stop.h"
#include "syscall.h"
#include "teardown.h"
#include "thread.h"
#include "timer.h"
#include "tlb.h"
#include "trace.h"
#include "trap_parts.h"
#include "uctx.h"

#define VECTOR_NO_FPU 7u /* "device not available": first use of the vector unit since a switch */

/* Used by the thread itself only. */
struct trap_thread {
    uint64_t vector; /* of the exception that it dies of, or TRAP_NO_VECTOR */
};

#define TRAP_NO_VECTOR 0xfffffffffffffffful

static struct trap_thread trap_thread[NUM_THREAD];

/* What a thread does that ends, in this order. Of an exception that it dies of, the parts of the report stand before the end of
 * its process; teardown has as many steps as there is to free. */
#define ENDING_FPU 0u
#define ENDING_REPORT 1u
#define ENDING_EXIT (ENDING_REPORT + TRAP_REPORT_PARTS)
#define ENDING_OTHERS (ENDING_EXIT + 1u)
#define ENDING_THREAD (ENDING_EXIT + 2u)
#define ENDING_TEARDOWN (ENDING_EXIT + 3u)
#define ENDING_QUOTA (ENDING_EXIT + 4u)
#define ENDING_FINISH (ENDING_EXIT + 5u)

void trap_init(void)
{
    for (uint32_t t = 0u; t < NUM_THREAD; t = t + 1u) {
        trap_thread[t].vector = TRAP_NO_VECTOR;
    }
    cv_init();
    endpoint_init();
    notify_init();
    process_init();
    irq_init();
    device_init();
    iommu_init();
}

/* Ends t's wait if it sleeps; otherwise its deadline is that of a guest run, which the interrupt has already ended. Returns
 * 1 if it sleeps, else 0. */
static uint32_t trap_end_sleep(uint32_t t)
{
    uint32_t kind = thread_wait_kind(t);
    if (kind != WAIT_SLEEP) {
        return 0u;
    }
    thread_end_wait(t);
    return 1u;
}

void trap_timer(void)
{
    uint32_t event = sched_timer_interrupt();
    if (event == NONE) {
        return;
    }
    if (event >= NUM_THREAD) {
        sched_release(event);
        return;
    }
    /* Whatever it has waited for, it is made ready in one place. */
    uint32_t ended = notify_timeout(event);
    if (ended == 0u) {
        ended = trap_end_sleep(event);
    }
    if (ended == 1u) {
        sched_ready(event);
    }
}

/* Serves one interrupt. Requires: no lock held. */
static void trap_vector(uint32_t vector)
{
#if TRACE
    trace_event(TRACE_INTERRUPT, vector);
#endif
    if (vector >= VECTOR_BASE && vector < VECTOR_BASE + NUM_IRQ_LINE) { /* first: for these a thread waits */
        irq_interrupt(vector - VECTOR_BASE);
    } else if (vector == VECTOR_TIMER) {
        intc_end();
        trap_timer();
    } else if (vector == VECTOR_RESCHEDULE) {
        intc_end();
        sched_drain_pending();
        stop_here();
    } else if (vector == VECTOR_PROCESS) {
        intc_end();
        process_serve_requests();
    } else if (vector == VECTOR_TLB) {
        intc_end();
        tlb_service();
    } else if (vector == VECTOR_IOMMU) {
        intc_end();
        iommu_take_faults();
    }
}

/* Opens an interrupt window. Returns the vector of the interrupt that was taken, or NONE. */
static uint32_t trap_poll(void)
{
    spinlock_kernel_exit();
    uint32_t vector = arch_interrupt_poll();
    spinlock_kernel_enter();
    return vector;
}

void trap_vector_of_cpu(uint32_t vector)
{
    trap_vector(vector);
}

/* Serves one interrupt. If it is the line of a device, whose service is short, the thread that it has woken gets the processor
 * at once, if it is more important than all others: service and switch are one region then, whose caches are filled once. Other
 * services are regions of their own. The vectors are told apart here, in calls of their own, so that the timing analysis sees
 * which are served where: first timer and other CPUs, then lines, last the lines of the first PCs with serial port and keyboard. */
static void trap_serve(uint32_t vector)
{
    if (vector >= VECTOR_BASE + NUM_IRQ_LINE) {
        trap_vector_of_cpu(vector);
    } else if (vector > VECTOR_BASE + SERIAL_LINE) {
        trap_vector(vector);
        uint32_t next = sched_woken();
        if (next != NONE) {
            sched_hand_over_to(next);
        }
    } else {
        trap_vector(vector);
    }
}

void trap_serve_waiting(void)
{
    uint32_t taken = 1u;
    while (taken == 1u) {
        uint32_t vector = trap_poll(); /* one call: each stands for a window that is bounded by itself */
        if (vector == NONE) {
            taken = 0u;
        } else {
            trap_serve(vector);
        }
    }
}

/* Decides who runs. Requires: a reschedule is pending, interrupts that waited have been served. */
static void trap_decide(void)
{
    uint32_t next = sched_woken();
    if (next != NONE) {
        sched_hand_over_to(next);
    } else {
        sched_decide();
    }
}

/* Serves what waits, behind a window of its own, before it is decided who runs. */
static void trap_reschedule_later(void)
{
    sched_pause_charge();
    trap_serve_waiting();
    sched_resume_charge();
    uint32_t need_resched = arch_need_resched();
    if (need_resched == 1u) {
        trap_decide();
    }
}

void trap_reschedule(void)
{
    uint32_t decided = sched_hand_over();
    if (decided == 0u) {
        trap_reschedule_later();
    }
}

void trap_settle(void)
{
    uint32_t more = 1u;
    while (more == 1u) {
        trap_serve_waiting();
        more = arch_need_resched();
        if (more == 1u) {
            trap_decide();
        }
    }
}

/* The end of kernel exit, when no reschedule is pending. */
static void trap_end_exit(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint32_t dying = process_dying(p);
    if (dying == 1u) {
        thread_set_ending(current);
    }
    spinlock_kernel_exit();
}

/* The exit of every kernel entry, for the thread on whose kernel stack this runs: other threads may run while it
 * reschedules, but then this one is current again. */
static void trap_return(uint32_t current)
{
    uint32_t need_resched = arch_need_resched();
    if (need_resched == 1u) {
        trap_reschedule();
    }
    trap_end_exit(current);
}

void trap_leave(void)
{
    uint32_t current = thread_current();
    trap_end_exit(current);
}

uint32_t trap_end_step(uint32_t step, uint32_t current, uint32_t p)
{
    uint64_t vector = trap_thread[current].vector;
    if (step == ENDING_FPU) {
        arch_fpu_leave(); /* here, and not at its last switch, which comes with other work */
        if (vector == TRAP_NO_VECTOR) {
            return ENDING_OTHERS;
        }
        return ENDING_REPORT;
    }
    if (step < ENDING_EXIT) {
        trap_report_death(p, current, vector, step - ENDING_REPORT);
        return step + 1u;
    }
    if (step == ENDING_EXIT) {
        trap_thread[current].vector = TRAP_NO_VECTOR;
        uint64_t cause = vector << 8u;
        process_exit((uint32_t)cause | END_FAULT);
        return ENDING_OTHERS;
    }
    if (step == ENDING_OTHERS) {
        process_leave_others();
        return ENDING_THREAD;
    }
    uint32_t more = 0u;
    if (step == ENDING_THREAD) {
        more = process_end_thread();
        /* Teardown runs at the process's own priority and budget, so that it does not delay processes of higher
         * priority. */
        sched_unboost();
    } else if (step == ENDING_TEARDOWN) {
        more = teardown_step(p);
    } else {
        process_return_quota(p);
        return ENDING_FINISH;
    }
    if (more == 1u) {
        return ENDING_TEARDOWN;
    }
    return ENDING_QUOTA;
}

void trap_end(void)
{
    spinlock_kernel_enter();
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint32_t step = ENDING_FPU;
    /* Threads of a dying process run and end one after the other: interrupts are served in between. */
    trap_settle();
    while (step != ENDING_FINISH) {
        step = trap_end_step(step, current, p);
        trap_settle();
    }
    /* From here on p may be created anew, so no request for its threads is served before this one has ended. */
    process_finish(p);
    sched_exit_current();
}

void trap_continue(uint32_t current)
{
    trap_serve_waiting();
    arch_fpu_unused(); /* as the call has left it */
    syscall_continue(current);
}

void trap_syscall(uint64_t first, uint64_t second)
{
    spinlock_kernel_enter();
    uint32_t current = thread_current();
#if TRACE
    uint64_t number = uctx_get(current, UCTX_RAX);
    trace_event(TRACE_CALL, (uint32_t)number);
#endif
    uint32_t after = syscall_dispatch(current, first, second);
    if (after == SYSCALL_DONE) {
        spinlock_kernel_exit();
        return;
    }
    if (after == SYSCALL_ENDS) {
        thread_set_ending(current);
    }
    if (after == SYSCALL_WINDOW) {
        trap_serve_waiting();
    }
    if (after == SYSCALL_CONTINUE) {
        trap_continue(current);
    }
    trap_return(current);
}

/* Reports the fault to the handler of process p, if it has one, and does what it replies; otherwise the thread ends, and
 * its process with it. */
static void trap_fault(uint32_t current, uint32_t p, uint64_t vector)
{
#if TRACE
    trace_event(TRACE_FAULT, (uint32_t)vector);
#endif
    uint32_t handler = process_fault_endpoint(p);
    uint32_t status = ERR_PEER_DEAD;
    uint32_t left = arch_fpu_left();
    if (left != 1u) {
        arch_fpu_leave();
        trap_serve_waiting(); /* so that saving the vector state and sending the message are two regions */
        uint32_t dying = process_dying(p);
        if (dying == 1u) {
            return; /* a wait that began now would not be cancelled any more */
        }
    }
    if (handler != NONE) {
        status = endpoint_fault(handler, FAULT_BADGE | (uint64_t)current);
    }
    if (status == STATUS_OK) {
        uint64_t action = endpoint_fault_action();
        uint64_t ip = endpoint_fault_ip();
        if (action == FAULT_RETRY) {
            return;
        }
        if (action == FAULT_SKIP && ip >= USER_BASE && ip < USER_END) {
            uctx_set(current, UCTX_RIP, ip);
            return;
        }
    }
    trap_thread[current].vector = vector;
    thread_set_ending(current);
}

void trap_exception(void)
{
    spinlock_kernel_enter();
    uint32_t current = thread_current();
    uint32_t p = thread_process(current);
    uint64_t vector = uctx_get(current, UCTX_VECTOR);
    if (vector == VECTOR_NO_FPU) {
        arch_fpu_use();
    } else {
        trap_fault(current, p, vector);
    }
    trap_return(current);
}

/* Hands over to the thread that was woken. Returns 1, when the current thread runs again; 0 if none is to run next. */
static uint32_t trap_hand_over(void)
{
    uint32_t decided = sched_hand_over();
    if (decided == 0u) {
        uint32_t next = sched_woken();
        if (next != NONE) {
            sched_hand_over_to(next);
            decided = 1u;
        }
    }
    return decided;
}

/* 1 if the thread that an interrupt wakes gets the processor in the same region: if that is a device's line, but for serial port
 * and keyboard, which read a port, or another CPU that has woken a thread. Other services are long. */
static uint32_t trap_serves_briefly(uint32_t vector)
{
    if (vector == VECTOR_BASE + SERIAL_LINE || vector == VECTOR_BASE + KEYBOARD_LINE) {
        return 0u;
    }
    if (vector < VECTOR_BASE + NUM_IRQ_LINE || vector == VECTOR_RESCHEDULE) {
        return 1u;
    }
    return 0u;
}

void trap_interrupt(uint32_t vector)
{
    uint32_t decided = 0u;
    spinlock_kernel_enter();
    uint32_t briefly = trap_serves_briefly(vector);
    if (briefly == 1u) {
        trap_vector(vector);
        decided = trap_hand_over();
    } else {
        trap_vector(vector);
    }
    uint32_t current = thread_current();
    uint32_t need_resched = arch_need_resched();
    if (decided == 0u && need_resched == 1u) {
        trap_reschedule_later();
    }
    trap_end_exit(current);
}

/* It uses no vector unit, so its switches have nothing to save: said behind each window, the timing analysis knows it. */
void trap_idle_serve(void)
{
    uint32_t vector = trap_poll();
    arch_fpu_unused();
    while (vector != NONE) {
        trap_serve(vector);
        vector = trap_poll();
        arch_fpu_unused();
    }
}

void trap_idle_settle(void)
{
    trap_idle_serve();
    uint32_t need_resched = arch_need_resched();
    while (need_resched == 1u) {
        trap_decide();
        trap_idle_serve();
        need_resched = arch_need_resched();
    }
}

void trap_idle(void)
{
    spinlock_kernel_enter();
    while (1u == 1u) {
        trap_idle_settle();
        spinlock_kernel_exit();
        uint32_t vector = arch_idle();
        spinlock_kernel_enter();
        arch_fpu_unused();
        trap_serve(vector);
    }
}

uint32_t trap_check(void)
{
    return 0u;
}
