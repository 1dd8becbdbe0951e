/* Host test of when a guest is stuck for good. CPUs hand one message around: who has it passes it on and gets stuck, so that there is
 * always someone who will be woken. Meanwhile a CPU that is stuck looks at the others, who go on between any two of its looks into
 * an inbox. */
#include "../cpu/inbox.h"

static uint32_t looked_into(const struct inbox *inbox);
#define inbox_is_full looked_into
#include "../cpu/stuck.c"
#undef inbox_is_full
#include "../cpu/inbox.c"

#include "../../libc/tests/check.h"

int rand(void);

#define LOOKS 300000u

struct machine machine;
static uint32_t looker, is_lost;

/* What a CPU's thread does next, at a time: it wakes, takes the message, passes it on, gets stuck. */
enum next { WAKE, TAKE, PASS, REST } next[MAX_CPUS];

static void step(uint32_t number)
{
    struct cpu *cpu = &machine.cpu[number];
    struct inbox taken;

    switch (next[number]) {
    case WAKE:
        if (inbox_is_full(&cpu->inbox) == 0) {
            return;
        }
        stuck_end(cpu);
        break;
    case TAKE:
        inbox_take(&cpu->inbox, &taken);
        CHECK(taken.events == INBOX_NMI);
        break;
    case PASS:
        if (is_lost == 0) {
            inbox_nmi(&machine.cpu[(number + 1 + (uint32_t)rand() % (machine.cpus - 1)) % machine.cpus].inbox);
        }
        break;
    case REST:
        stuck_begin(cpu);
        break;
    }
    next[number] = (next[number] + 1) % 4;
}

/* The others go on, so far as they can; the one who looks does not. */
static void others(void)
{
    for (uint32_t steps = (uint32_t)rand() % 16; steps != 0; steps--) {
        uint32_t number = (uint32_t)rand() % machine.cpus;
        if (number != looker) {
            step(number);
        }
    }
}

static uint32_t looked_into(const struct inbox *inbox)
{
    others();
    uint32_t is_full = inbox_is_full(inbox);
    others();
    return is_full;
}

static void hand_around(uint32_t cpus)
{
    machine = (struct machine){.cpus = cpus};
    is_lost = 0;
    for (uint32_t i = 0; i < cpus; i++) {
        next[i] = WAKE;
        stuck_begin(&machine.cpu[i]);
    }
    inbox_nmi(&machine.cpu[0].inbox);
    for (uint32_t i = 0; i < LOOKS; i++) {
        looker = (uint32_t)rand() % cpus;
        if (next[looker] == WAKE) {
            CHECK(all_are_stuck() == 0);
        }
        looker = cpus;
        others();
    }

    /* Its last holder keeps it for itself. */
    is_lost = 1;
    for (uint32_t i = 0; i < 4 * cpus; i++) {
        if (next[i % cpus] != WAKE || inbox_is_full(&machine.cpu[i % cpus].inbox)) {
            step(i % cpus);
            i = 0;
        }
    }
    looker = 0;
    CHECK(all_are_stuck() == 1);
    stuck_end(&machine.cpu[cpus - 1]);
    CHECK(all_are_stuck() == 0);
    stuck_end(&machine.cpu[cpus - 1]);
    CHECK(all_are_stuck() == 0);
}

int main(void)
{
    hand_around(2);
    hand_around(3);
    return 0;
}
