/* What the virtual CPUs have in common: the lock, the interrupt lines, the end of a run. */
#include "machine.h"

#include "ashlar/syscall.h"
#include "devices/console.h"
#include "pci/passed.h"
#include "virtio/links.h"

#define LOCK_TRIES 1000u

struct machine machine;

void cpu_signal(const struct cpu *cpu)
{
    sys_signal(cpu->wake);
}

void cpu_wake(struct cpu *cpu)
{
    if (__atomic_exchange_n(&cpu->away, 0, __ATOMIC_SEQ_CST)) {
        cpu_signal(cpu);
    }
}

/* ---- the lock ---- */

static uint32_t take_lock(void)
{
    return __atomic_exchange_n(&machine.lock_taken, 1, __ATOMIC_SEQ_CST) == 0;
}

/* A thread that waits has its bit set before it tries once more, and who frees the lock looks at the bits after that: so one of
 * the two sees the other. */
void machine_lock(struct cpu *cpu)
{
    uint32_t bit = 1u << cpu->number;
    for (uint32_t i = 0; i < LOCK_TRIES; i++) {
        if (take_lock()) {
            return;
        }
        __asm__ volatile("pause");
    }
    for (;;) {
        uint64_t bits = 0;
        __atomic_fetch_or(&machine.lock_waiting, bit, __ATOMIC_SEQ_CST);
        if (take_lock()) {
            __atomic_fetch_and(&machine.lock_waiting, ~bit, __ATOMIC_SEQ_CST);
            return;
        }
        if (sys_wait(cpu->wake, DEADLINE_NEVER, &bits) == STATUS_OK) {
            cpu->bits |= bits; /* may be about something else: it is served later */
        }
    }
}

static void free_lock(void)
{
    __atomic_store_n(&machine.lock_taken, 0, __ATOMIC_SEQ_CST);
    uint32_t waiting = __atomic_load_n(&machine.lock_waiting, __ATOMIC_SEQ_CST);
    if (waiting != 0) {
        cpu_signal(&machine.cpu[__builtin_ctz(waiting)]);
    }
}

void machine_unlock(struct cpu *cpu)
{
    passed_follow();
    uint64_t watched = __atomic_load_n(&machine.watched, __ATOMIC_SEQ_CST);
    uint32_t early = cpu->number != 0 && (machine.pic.output != 0 || machine_deadline() < watched);
    enum end_kind request = machine.request;
    free_lock();
    if (early) {
        inbox_poke(&machine.cpu[0].inbox);
        cpu_wake(&machine.cpu[0]);
    }
    if (request != END_NONE) {
        machine_end(cpu, request, 0);
    }
}

/* ---- the end ---- */

void machine_end(struct cpu *cpu, enum end_kind kind, const char *why)
{
    if (__atomic_exchange_n(&machine.ending, 1, __ATOMIC_SEQ_CST)) {
        return;
    }
    machine.end = kind;
    machine.end_cpu = cpu->number;
    machine.why = why;
    for (uint32_t i = 0; i < machine.cpus; i++) {
        if (i != cpu->number) {
            cpu_signal(&machine.cpu[i]);
        }
    }
}

/* ---- lines and deadlines ---- */

uint64_t machine_deadline(void)
{
    uint64_t next = console_deadline();
    next = links_deadline() < next ? links_deadline() : next;
    next = passed_deadline() < next ? passed_deadline() : next;
    return machine.pit.next < next ? machine.pit.next : next;
}

/* The guest of one virtual CPU has no I/O controller. */
static uint32_t has_ioapic(void)
{
    return machine.cpus > 1;
}

void machine_set_line(uint32_t line, uint32_t level)
{
    pic_set_line(&machine.pic, line, level);
    if (has_ioapic()) {
        ioapic_set_line(&machine.ioapic, line, level);
    }
}

void ioapic_ended(uint32_t input)
{
    if (input == PASSED_LINE) {
        passed_end();
    }
}

void machine_tick(void)
{
    pic_pulse(&machine.pic, 0);
    if (has_ioapic()) {
        ioapic_set_line(&machine.ioapic, IOAPIC_TIMER_INPUT, 1);
        ioapic_set_line(&machine.ioapic, IOAPIC_TIMER_INPUT, 0);
    }
}
