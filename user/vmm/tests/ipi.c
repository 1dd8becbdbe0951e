/* Host test of interrupt messages: whom a command is for, what it leaves there, and that nothing is lost between threads. */
#include <pthread.h>

#include "../cpu/inbox.c"
#include "../cpu/ipi.c"
#include "../devices/lapic.c"
#include "../devices/lapic_name.c"
#include "../devices/lapic_timer.c"

#include "../../libc/tests/check.h"

#define COMMAND_OTHERS 0xc0000u
#define COMMAND_ALL 0x80000u
#define COMMAND_SELF 0x40000u
#define ROUNDS 200000u

struct machine machine;
static uint32_t woken, ended;

void cpu_wake(struct cpu *cpu)
{
    woken |= 1u << cpu->number;
}

void ioapic_end(struct ioapic *ioapic, uint32_t vector)
{
    (void)ioapic;
    ended = vector;
}

void machine_lock(struct cpu *cpu)
{
    (void)cpu;
}

void machine_unlock(struct cpu *cpu)
{
    (void)cpu;
}

static void reset(uint32_t cpus)
{
    machine.cpus = cpus;
    for (uint32_t i = 0; i < cpus; i++) {
        machine.cpu[i].number = i;
        inbox_clear(&machine.cpu[i].inbox);
        lapic_init(&machine.cpu[i].lapic, i, 1000);
        lapic_write(&machine.cpu[i].lapic, REG_SPURIOUS, 0x1ff, 0);
    }
}

/* Sends a command from a CPU. Returns the set of CPUs that were woken. */
static uint32_t command(uint32_t from, uint32_t destination, uint32_t low)
{
    struct cpu *cpu = &machine.cpu[from];
    woken = 0;
    lapic_write(&cpu->lapic, REG_COMMAND_HIGH, destination << 24, 0);
    lapic_write(&cpu->lapic, REG_COMMAND_LOW, low, 0);
    ipi_follow(cpu);
    return woken;
}

static void finds_its_way(void)
{
    reset(4);
    CHECK(command(1, 3, 0x41) == 8 && machine.cpu[3].inbox.interrupt[1] == 2);
    CHECK(command(1, 0xff, 0x41) == 15 && command(1, 9, 0x41) == 0);
    CHECK(command(1, 0, COMMAND_OTHERS | 0x41) == 13 && command(1, 0, COMMAND_ALL | 0x41) == 15);
    CHECK(command(1, 0, COMMAND_SELF | 0x41) == 2);
    CHECK(command(1, 3, 0x0f) == 0); /* a vector that no controller sends */
    CHECK(command(1, 0, COMMAND_SELF | 0x4500) == 0 && command(1, 0, COMMAND_SELF | 0x400) == 0);
    CHECK(command(1, 3, 0x200) == 0 && command(1, 3, 0x341) == 0 && command(1, 3, 0x741) == 0);
    CHECK(command(1, 3, 0x8500) == 0); /* INIT, deasserted */
}

static void starts_processors(void)
{
    struct inbox taken;
    reset(2);
    CHECK(command(0, 1, 0x4500) == 2 && command(0, 1, 0x4609) == 2 && command(0, 1, 0x460a) == 2);
    inbox_take(&machine.cpu[1].inbox, &taken);
    CHECK(taken.events == (INBOX_INIT | INBOX_START | 9u << 8) && inbox_is_full(&machine.cpu[1].inbox) == 0);
    CHECK(command(0, 1, 0x4609) == 2 && command(0, 1, 0x4500) == 2);
    inbox_take(&machine.cpu[1].inbox, &taken);
    CHECK(taken.events == INBOX_INIT);
    CHECK(command(0, 1, 0x4400) == 2);
    inbox_take(&machine.cpu[1].inbox, &taken);
    CHECK(taken.events == INBOX_NMI);
}

/* The lowest priority goes to one, in turn, of those that take interrupts. */
static void arbitrates(void)
{
    uint32_t seen = 0;
    reset(3);
    lapic_write(&machine.cpu[1].lapic, REG_SPURIOUS, 0xff, 0);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t set = command(0, 0xff, 0x141);
        CHECK(__builtin_popcount(set) == 1);
        seen |= set;
    }
    CHECK(seen == 5);
}

/* The end of an interrupt that a level has requested goes to the I/O controller. */
static void passes_ends_on(void)
{
    static const uint64_t level[4] = {0, 2, 0, 0};
    reset(2);
    lapic_take(&machine.cpu[1].lapic, level, level);
    lapic_acknowledge(&machine.cpu[1].lapic);
    lapic_write(&machine.cpu[1].lapic, REG_END, 0, 0);
    ipi_follow(&machine.cpu[1]);
    CHECK(ended == 0x41 && machine.cpu[1].lapic.ended == 0);
}

/* Two threads post, one takes: each vector that is posted is seen after it. */
static void *post(void *which)
{
    uint32_t vector = 0x40 + *(uint32_t *)which;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        inbox_interrupt(&machine.cpu[0].inbox, vector, vector & 1);
    }
    inbox_interrupt(&machine.cpu[0].inbox, vector + 0x80, 0); /* its last word */
    return 0;
}

static void loses_nothing(void)
{
    static uint32_t number[2] = {0, 1};
    pthread_t thread[2];
    uint64_t last = 0;
    reset(1);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(pthread_create(&thread[i], 0, post, &number[i]) == 0);
    }
    while (last != 3) {
        struct inbox taken;
        if (inbox_is_full(&machine.cpu[0].inbox)) {
            inbox_take(&machine.cpu[0].inbox, &taken);
            last |= taken.interrupt[3];
            CHECK((taken.level[1] & ~(taken.interrupt[1] & 2)) == 0);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(thread[i], 0);
    }
}

int main(void)
{
    finds_its_way();
    starts_processors();
    arbitrates();
    passes_ends_on();
    loses_nothing();
    return 0;
}
