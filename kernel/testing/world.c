/* See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi.h"
#include "arch.h"
#include "console.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "keyboard.h"
#include "pagemap.h"
#include "process.h"
#include "queue.h"
#include "sched.h"
#include "share.h"
#include "spinlock.h"
#include "thread.h"
#include "timer.h"
#include "tlb.h"
#include "trap.h"
#include "uctx.h"

#define USER_IP 0x400002ul /* behind a system-call instruction at 0x400000 */

static uint32_t stopped;
static uint64_t restarts;

static void require(uint32_t good, const char *what, uint64_t value)
{
    if (!good) {
        fprintf(stderr, "test world: %s (%llu)\n", what, (unsigned long long)value);
        abort();
    }
}

void world_start(uint32_t cpus)
{
    hosted_reset(cpus);
    if (cpus > 1) {
        hosted_clock_real();
    }
    console_init();
    keyboard_init();
    timer_init();
    container_init(WORLD_FRAMES);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, WORLD_FRAMES);
    pagemap_init();
    tlb_init();
    share_init();
    queue_init();
    thread_init();
    sched_init();
    trap_init();
    stopped = 0;
}

void world_process(uint32_t p, uint32_t parent, uint32_t quota, uint32_t first, uint32_t threads, uint32_t cpu,
                   uint32_t priority, uint32_t fault_endpoint)
{
    for (uint32_t i = 0; i < threads; i++) {
        thread_define(NUM_CPU + first + i, p, (cpu + i) % arch_cpu_count(), priority);
    }
    process_define(p, parent, quota, NUM_CPU + first, threads, fault_endpoint);
    process_define_start(p, USER_IP, USER_BASE, 0);
}

void world_create(uint32_t p)
{
    uint32_t status = STATUS_RESTART;

    while (status == STATUS_RESTART) {
        status = process_create(p);
    }
    require(status == STATUS_OK, "a process cannot be created: error", status);
}

void world_start_process(uint32_t p)
{
    spinlock_kernel_enter();
    uint32_t status = process_start(p, 0, 0, 0);
    spinlock_kernel_exit();
    require(status == STATUS_OK, "a process cannot be started: error", status);
}

void world_stop(void)
{
    __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
}

uint32_t world_stopped(void)
{
    return __atomic_load_n(&stopped, __ATOMIC_SEQ_CST);
}

static void idle(uint32_t cpu)
{
    if (world_stopped()) {
        hosted_leave_cpu();
    }
    if (arch_cpu_count() == 1) {
        require(hosted_alarm(cpu) != UINT64_MAX, "deadlock: all threads wait without deadline, ns", arch_clock_ns());
        hosted_clock_set(hosted_alarm(cpu));
    }
}

static void run_cpu(uint32_t cpu)
{
    (void)cpu;
    sched_init_cpu();
    trap_idle();
}

void world_run(void (*program)(uint32_t thread))
{
    hosted_set_user(program);
    hosted_on_idle(idle);
    hosted_run_cpus(arch_cpu_count(), run_cpu);
}

/* What the kernel's exit does on the way to user mode. */
static void leave_kernel(void)
{
    if (arch_ends_at_exit(thread_current())) {
        trap_end();
    }
}

void user_interrupts(void)
{
    uint32_t vector = arch_interrupt_poll();

    while (vector != NONE) {
        trap_interrupt(vector);
        leave_kernel();
        vector = arch_interrupt_poll();
    }
}

uint32_t user_call_registers(void)
{
    uint32_t thread = thread_current();

    for (;;) {
        uctx_set(thread, UCTX_RIP, USER_IP);
        trap_syscall(uctx_get(thread, UCTX_RDI), uctx_get(thread, UCTX_RSI));
        leave_kernel();
        user_interrupts();
        if (uctx_get(thread, UCTX_RIP) == USER_IP) {
            return (uint32_t)uctx_get(thread, UCTX_RAX);
        }
        require(uctx_get(thread, UCTX_RIP) == USER_IP - 2, "a call returned to", uctx_get(thread, UCTX_RIP));
        __atomic_fetch_add(&restarts, 1, __ATOMIC_RELAXED);
    }
}

uint32_t user_call(uint32_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2)
{
    uint32_t thread = thread_current();

    uctx_set(thread, UCTX_RAX, number);
    uctx_set(thread, UCTX_RDI, a);
    uctx_set(thread, UCTX_RSI, b);
    uctx_set_word(thread, 0, w0);
    uctx_set_word(thread, 1, w1);
    uctx_set_word(thread, 2, w2);
    return user_call_registers();
}

uint64_t user_first(void)
{
    return uctx_get(thread_current(), UCTX_RDI);
}

uint64_t user_second(void)
{
    return uctx_get(thread_current(), UCTX_RSI);
}

uint64_t user_word(uint32_t i)
{
    return uctx_word(thread_current(), i);
}

void user_set_word(uint32_t i, uint64_t value)
{
    uctx_set_word(thread_current(), i, value);
}

void user_exception(uint32_t vector, uint64_t code, uint64_t address)
{
    uint32_t thread = thread_current();

    uctx_set(thread, UCTX_VECTOR, vector);
    uctx_set(thread, UCTX_ERROR_CODE, code);
    uctx_set(thread, UCTX_FAULT_ADDRESS, address);
    trap_exception();
    leave_kernel();
    user_interrupts();
}

uint64_t user_restarts(void)
{
    return __atomic_load_n(&restarts, __ATOMIC_RELAXED);
}
