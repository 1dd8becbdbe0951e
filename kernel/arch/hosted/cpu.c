/* CPUs as POSIX threads, and the reset of the whole machine. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

_Thread_local uint32_t hosted_cpu;
static uint32_t cpu_count = 1;
static uint32_t need_resched[NUM_CPU];
static uint32_t floors[NUM_CPU];
static void (*cpu_body)(uint32_t cpu);

uint32_t arch_cpu(void)
{
    return hosted_cpu;
}

uint32_t arch_cpu_count(void)
{
    return cpu_count;
}

uint32_t arch_need_resched(void)
{
    return need_resched[hosted_cpu];
}

uint32_t arch_floor(void)
{
    return floors[hosted_cpu];
}

void arch_set_floor(uint32_t floor)
{
    floors[hosted_cpu] = floor;
}

void arch_set_need_resched(uint32_t pending)
{
    need_resched[hosted_cpu] = pending;
}

void hosted_fail(const char *what, uint64_t value)
{
    fprintf(stderr, "hosted machine: %s (%llu)\n", what, (unsigned long long)value);
    abort();
}

void hosted_reset(uint32_t cpus)
{
    if (cpus == 0 || cpus > NUM_CPU) {
        hosted_fail("number of CPUs out of range", cpus);
    }
    cpu_count = cpus;
    hosted_cpu = 0;
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        need_resched[cpu] = 0;
        floors[cpu] = ARCH_FLOOR_NONE;
    }
    hosted_cells_reset();
    hosted_memory_reset();
    hosted_interrupts_reset();
    hosted_clock_reset();
    hosted_threads_reset();
    hosted_devices_reset();
    hosted_iommu_reset();
}

void hosted_set_cpu(uint32_t cpu)
{
    if (cpu >= cpu_count) {
        hosted_fail("no such CPU", cpu);
    }
    hosted_cpu = cpu;
}

static void *cpu_main(void *argument)
{
    hosted_cpu = (uint32_t)(uintptr_t)argument;
    cpu_body(hosted_cpu);
    return NULL;
}

void hosted_leave_cpu(void)
{
    pthread_exit(NULL);
}

void hosted_run_cpus(uint32_t cpus, void (*body)(uint32_t cpu))
{
    pthread_t threads[NUM_CPU];
    pthread_attr_t attributes;

    if (cpus > cpu_count) {
        hosted_fail("no such CPU", cpus);
    }
    cpu_body = body;
    pthread_attr_init(&attributes);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        if (pthread_create(&threads[cpu], &attributes, cpu_main, (void *)(uintptr_t)cpu) != 0) {
            hosted_fail("no POSIX thread for CPU", cpu);
        }
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        pthread_join(threads[cpu], NULL);
    }
    pthread_attr_destroy(&attributes);
}
