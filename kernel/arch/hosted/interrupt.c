/* Interrupts as bits that the CPU polls: word bit = vector - VECTOR_BASE. */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

struct line {
    uint32_t cpu;
    uint32_t open;
    uint32_t waiting; /* raised while masked */
    uint32_t has_message;
};

static struct {
    _Alignas(64) uint64_t waiting;
} cpu_interrupts[NUM_CPU];
static struct line lines[NUM_IRQ_LINE];
static void (*on_idle)(uint32_t cpu);
/* An interrupt that comes behind the next question whether one waits. */
static _Thread_local uint32_t comes_next = NONE;

void hosted_interrupts_reset(void)
{
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        cpu_interrupts[cpu].waiting = 0;
    }
    for (uint32_t line = 0; line < NUM_IRQ_LINE; line++) {
        lines[line] = (struct line){0};
    }
    on_idle = NULL;
    comes_next = NONE;
}

void hosted_raise(uint32_t cpu, uint32_t vector)
{
    if (vector < VECTOR_BASE || vector >= VECTOR_BASE + 32u || cpu >= arch_cpu_count()) {
        hosted_fail("no such interrupt, vector", vector);
    }
    __atomic_fetch_or(&cpu_interrupts[cpu].waiting, 1ul << (vector - VECTOR_BASE), __ATOMIC_SEQ_CST);
}

void hosted_lower(uint32_t cpu, uint32_t vector)
{
    __atomic_fetch_and(&cpu_interrupts[cpu].waiting, ~(1ul << (vector - VECTOR_BASE)), __ATOMIC_SEQ_CST);
}

uint32_t hosted_raised(uint32_t cpu, uint32_t vector)
{
    return __atomic_load_n(&cpu_interrupts[cpu].waiting, __ATOMIC_SEQ_CST) >> (vector - VECTOR_BASE) & 1;
}

void hosted_raise_next(uint32_t vector)
{
    comes_next = vector;
}

uint32_t arch_interrupt_pending(void)
{
    if (hosted_alarm_due(hosted_cpu)) {
        hosted_raise(hosted_cpu, VECTOR_TIMER);
    }
    uint32_t pending = __atomic_load_n(&cpu_interrupts[hosted_cpu].waiting, __ATOMIC_SEQ_CST) != 0;
    if (comes_next != NONE) {
        hosted_raise(hosted_cpu, comes_next);
        comes_next = NONE;
    }
    return pending;
}

uint32_t arch_interrupt_poll(void)
{
    if (!arch_interrupt_pending()) {
        return NONE;
    }
    uint64_t waiting = __atomic_load_n(&cpu_interrupts[hosted_cpu].waiting, __ATOMIC_SEQ_CST);
    uint32_t vector = VECTOR_BASE + arch_highest_bit(waiting);
    hosted_lower(hosted_cpu, vector);
    return vector;
}

void hosted_on_idle(void (*idle)(uint32_t cpu))
{
    on_idle = idle;
}

uint32_t arch_idle(void)
{
    uint32_t vector = arch_interrupt_poll();

    while (vector == NONE) {
        if (on_idle) {
            on_idle(hosted_cpu);
        } else if (hosted_clock_by_hand() && arch_cpu_count() == 1 && hosted_alarm(0) == UINT64_MAX) {
            hosted_fail("deadlock: the only CPU is idle and has no alarm; clock", arch_clock_ns());
        } else if (hosted_clock_by_hand() && arch_cpu_count() == 1) {
            hosted_clock_set(hosted_alarm(0));
        }
        syscall(SYS_sched_yield); /* sched_yield() is the kernel's function here */
        vector = arch_interrupt_poll();
    }
    return vector;
}

void arch_interrupt_end(void)
{
}

void arch_interrupt_send(uint32_t cpu, uint32_t vector)
{
    hosted_raise(cpu, vector);
}

void arch_line_route(uint32_t line, uint32_t cpu, uint32_t flags)
{
    (void)flags;
    if (line >= NUM_IRQ_LINE || cpu >= arch_cpu_count()) {
        hosted_fail("no such line", line);
    }
    lines[line].cpu = cpu;
    lines[line].open = 0;
    lines[line].has_message = 0;
}

void arch_message_route(uint32_t line, uint32_t function)
{
    (void)function;
    lines[line].has_message = 1;
}

uint64_t arch_message_address(uint32_t line)
{
    return lines[line].has_message != 0 ? 0xfee00000ul + (uint64_t)lines[line].cpu * 4096 : 0;
}

uint32_t arch_message_data(uint32_t line)
{
    return VECTOR_BASE + line;
}

void arch_line_mask(uint32_t line)
{
    lines[line].open = 0;
}

void arch_line_unmask(uint32_t line)
{
    lines[line].open = 1;
    if (lines[line].waiting) {
        lines[line].waiting = 0;
        hosted_raise(lines[line].cpu, VECTOR_BASE + line);
    }
}

uint32_t hosted_line_open(uint32_t line)
{
    return lines[line].open;
}

void hosted_raise_line(uint32_t line)
{
    if (lines[line].open) {
        hosted_raise(lines[line].cpu, VECTOR_BASE + line);
    } else {
        lines[line].waiting = 1;
    }
}
