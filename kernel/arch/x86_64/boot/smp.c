/* Starting the other processors: INIT and start-up messages to a trampoline page below 1 MiB. All CPUs use the same
 * first stack, so they start one at a time; each then continues on its idle thread's stack, or on the boot
 * processor's if it takes its place. */
#include "boot/smp.h"

#include "interrupt/apic.h"
#include "clock/clock.h"
#include "cpu/cpu.h"
#include "guest/svm.h"
#include "memory/kernel_map.h"
#include "boot/memory.h"
#include "cpu/percpu.h"
#include "boot/platform.h"
#include "print.h"
#include "run.h"
#include "trap.h"

#define MS 1000000ul
#define START_TIMEOUT (10000 * MS) /* a loaded emulator may be slow; a real processor needs far less */

extern char trampoline_start[], trampoline_data[], trampoline_end[];
extern uint64_t boot_root[];
void arch_run_on_stack(uint64_t top, void (*function)(void));
void smp_go_on(void);

enum state { STATE_WAITING, STATE_UP, STATE_UNFIT };

static char first_stack[4096] __attribute__((aligned(64)));
static uint32_t starting_cpu;
static uint32_t starting_apic_id;
static uint32_t state;    /* enum state of the CPU being started */
static uint32_t released; /* 1: waiting CPUs may enter the kernel */
static uint32_t running;  /* CPUs that have entered */
static uint32_t left;     /* 1: the boot processor executes nothing any more */

static void wait_ns(uint64_t ns)
{
    uint64_t end = arch_clock_ns() + ns;
    while (arch_clock_ns() < end) {
        cpu_pause();
    }
}

static void other_cpu_main(void)
{
    __atomic_store_n(&state, STATE_UP, __ATOMIC_RELEASE);
    while (__atomic_load_n(&released, __ATOMIC_ACQUIRE) == 0) {
        cpu_pause();
    }
    run_init_cpu();
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    arch_run_on_stack(STACK_TOP(arch_cpu()), trap_idle);
}

/* Makes this CPU the one that is being started. */
static void begin(void)
{
    write_cr3(kernel_map_root());
    if (cpu_missing_feature() != 0) {
        __atomic_store_n(&state, STATE_UNFIT, __ATOMIC_RELEASE);
        for (;;) {
            __asm__ volatile("cli\n\thlt");
        }
    }
    percpu_init(starting_cpu, starting_apic_id);
    cpu_init();
    apic_init_cpu();
    clock_init_cpu();
}

static void other_cpu_entry(void)
{
    uint32_t cpu = starting_cpu;

    begin();
    arch_run_on_stack(STACK_TOP(cpu), other_cpu_main);
}

static void successor_entry(void)
{
    begin();
    __atomic_store_n(&state, STATE_UP, __ATOMIC_RELEASE);
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) == 0) {
        cpu_pause();
    }
    smp_go_on();
}

/* Copies the trampoline to `page`. */
static void place_trampoline(uint64_t page)
{
    char *trampoline = direct(page);
    uint64_t *data = (uint64_t *)(trampoline + (trampoline_data - trampoline_start));

    for (char *byte = trampoline_start; byte < trampoline_end; byte++) {
        trampoline[byte - trampoline_start] = *byte;
    }
    data[0] = kernel_physical(boot_root);
    data[1] = (uint64_t)first_stack + sizeof first_stack;
}

/* 1 if the CPU with that APIC id has called `entry`, as the kernel's CPU number `cpu`; 0 if it is not to be had. */
static int start_one(void (*entry)(void), uint32_t cpu, uint32_t apic_id, uint64_t page)
{
    char *trampoline = direct(page);
    uint64_t end;

    ((uint64_t *)(trampoline + (trampoline_data - trampoline_start)))[2] = (uint64_t)entry;
    starting_cpu = cpu;
    starting_apic_id = apic_id;
    __atomic_store_n(&state, STATE_WAITING, __ATOMIC_SEQ_CST);
    apic_send_init(apic_id);
    wait_ns(10 * MS);
    apic_send_startup(apic_id, (uint32_t)(page >> 12));
    wait_ns(MS);
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_WAITING) {
        apic_send_startup(apic_id, (uint32_t)(page >> 12));
    }
    end = arch_clock_ns() + START_TIMEOUT;
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_WAITING && arch_clock_ns() < end) {
        cpu_pause();
    }
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_UP) {
        return 1;
    }
    apic_send_init(apic_id); /* so that it does not start later */
    return 0;
}

static void report_unfit(uint32_t apic_id)
{
    boot_print("boot: processor with APIC id %u does not start or lacks a required feature; it is not used\n", apic_id);
}

void smp_start(void)
{
    uint64_t page = memory_low_page();

    if (platform.cpu_count == 1) {
        return;
    }
    if (page == 0) {
        boot_print("boot: no free page below 640 KiB: the other processors are not used\n");
        return;
    }
    place_trampoline(page);
    for (uint32_t i = 1; i < platform.cpu_count; i++) {
        if (start_one(other_cpu_entry, cpus_started, platform.apic_id[i], page)) {
            cpus_started = cpus_started + 1;
        } else {
            report_unfit(platform.apic_id[i]);
        }
    }
}

/* Called by smp_leave_first on the boot processor. Returns if the other CPU does not start: then nothing has changed. */
void smp_start_successor(void)
{
    uint64_t page = memory_low_page();

    if (page == 0) {
        return;
    }
    place_trampoline(page);
    if (start_one(successor_entry, 0, platform.apic_id[1], page) == 0) {
        report_unfit(platform.apic_id[1]);
        return;
    }
    platform.cpu_count--;
    for (uint32_t i = 0; i < platform.cpu_count; i++) {
        platform.apic_id[i] = platform.apic_id[i + 1];
    }
    svm_tcg_stop(&left);
}

void smp_release(void)
{
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != cpus_started - 1) {
        cpu_pause();
    }
}
