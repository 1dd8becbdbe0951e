/* Which virtual CPUs an interrupt message is for, and what it does there. */
#include "cpu/ipi.h"

#include "devices/ioapic.h"
#include "machine.h"

#define MODE_FIXED 0u
#define MODE_LOWEST 1u
#define MODE_NMI 4u
#define MODE_INIT 5u
#define MODE_START 6u
#define COMMAND_ASSERT 0x4000u
#define COMMAND_LOGICAL 0x800u
#define SHORTHAND(low) ((low) >> 18 & 3)
#define SHORTHAND_NONE 0u
#define SHORTHAND_SELF 1u
#define SHORTHAND_ALL 2u
#define LEAST_VECTOR 16u

static void deliver(struct cpu *to, uint32_t mode, uint32_t vector, uint32_t is_level)
{
    switch (mode) {
    case MODE_FIXED:
    case MODE_LOWEST:
        if (vector < LEAST_VECTOR) {
            return;
        }
        inbox_interrupt(&to->inbox, vector, is_level);
        break;
    case MODE_NMI:
        inbox_nmi(&to->inbox);
        break;
    case MODE_INIT:
        inbox_init(&to->inbox);
        break;
    case MODE_START:
        inbox_start(&to->inbox, vector);
        break;
    default: /* SMI and what is reserved: there is nothing that would take it */
        return;
    }
    cpu_wake(to);
}

/* Of the CPUs in `set`, one that takes part in arbitration: they take turns. */
static uint32_t arbitrate(uint32_t set)
{
    static uint32_t last;
    uint32_t after = __atomic_load_n(&last, __ATOMIC_RELAXED);
    for (uint32_t i = 1; i <= machine.cpus; i++) {
        uint32_t number = (after + i) % machine.cpus;
        if ((set >> number & 1) != 0 && lapic_accepts(&machine.cpu[number].lapic)) {
            __atomic_store_n(&last, number, __ATOMIC_RELAXED);
            return 1u << number;
        }
    }
    return 0;
}

static void send(uint32_t set, uint32_t mode, uint32_t vector, uint32_t is_level)
{
    if (mode == MODE_LOWEST) {
        set = arbitrate(set);
    }
    for (uint32_t i = 0; i < machine.cpus; i++) {
        if ((set >> i & 1) != 0) {
            deliver(&machine.cpu[i], mode, vector, is_level);
        }
    }
}

/* The CPUs that a destination names. */
static uint32_t named(uint32_t destination, uint32_t is_logical, uint32_t is_wide)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < machine.cpus; i++) {
        set |= lapic_is_named(&machine.cpu[i].lapic, destination, is_logical, is_wide) << i;
    }
    return set;
}

static void send_command(struct cpu *from)
{
    uint32_t low = from->lapic.command_low, mode = low >> 8 & 7, all = (1u << machine.cpus) - 1;
    uint32_t self = 1u << from->number, set;
    if (mode == MODE_INIT && (low & COMMAND_ASSERT) == 0) {
        return; /* an old way to set arbitration identifiers */
    }
    switch (SHORTHAND(low)) {
    case SHORTHAND_NONE:
        set = named(lapic_destination(&from->lapic), (low & COMMAND_LOGICAL) != 0, lapic_is_wide(&from->lapic));
        break;
    case SHORTHAND_SELF:
        set = mode == MODE_FIXED ? self : 0;
        break;
    case SHORTHAND_ALL:
        set = mode <= MODE_LOWEST ? all : all & ~self;
        break;
    default:
        set = all & ~self;
        break;
    }
    send(set, mode, low & 0xff, 0);
}

void ioapic_send(uint32_t destination, uint32_t is_logical, uint32_t mode, uint32_t vector, uint32_t is_level)
{
    send(named(destination, is_logical, 0), mode, vector, is_level);
}

void ipi_follow(struct cpu *cpu)
{
    struct lapic *lapic = &cpu->lapic;
    if (lapic->sent) {
        lapic->sent = 0;
        send_command(cpu);
    }
    if (lapic->ended != 0) {
        machine_lock(cpu);
        ioapic_end(&machine.ioapic, lapic->ended);
        machine_unlock(cpu);
        lapic->ended = 0;
    }
}
