/* Which local interrupt controllers a destination names. The threads of other CPUs ask, while the controller's own may be changing
 * the registers that this depends on: each is read once, and either value is right. */
#include "devices/lapic_parts.h"

#define ALL_NARROW 0xffu
#define ALL_WIDE 0xffffffffu
#define FORMAT_FLAT 0xfu

static uint32_t of(const uint32_t *field)
{
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* In x2APIC mode the logical name is made of the identifier: a cluster of sixteen, and a bit in it. */
static uint32_t wide_name(uint32_t identifier)
{
    return (identifier >> 4) << 16 | 1u << (identifier & 15);
}

static uint32_t is_named_logically(const struct lapic *lapic, uint32_t destination)
{
    uint64_t base = __atomic_load_n(&lapic->base, __ATOMIC_RELAXED);
    if ((base & BASE_WIDE) != 0) {
        uint32_t name = wide_name(of(&lapic->identifier));
        return destination >> 16 == name >> 16 && (destination & name & 0xffff) != 0;
    }
    uint32_t name = of(&lapic->logical_destination) >> 24;
    if (of(&lapic->destination_format) >> 28 == FORMAT_FLAT) {
        return (destination & name & 0xff) != 0;
    }
    return (destination >> 4 & 15) == name >> 4 && (destination & name & 15) != 0;
}

uint32_t lapic_is_named(const struct lapic *lapic, uint32_t destination, uint32_t is_logical, uint32_t is_wide)
{
    if (destination == (is_wide ? ALL_WIDE : ALL_NARROW)) {
        return 1;
    }
    return is_logical ? is_named_logically(lapic, destination) : destination == of(&lapic->identifier);
}

uint32_t lapic_accepts(const struct lapic *lapic)
{
    return (__atomic_load_n(&lapic->base, __ATOMIC_RELAXED) & BASE_ENABLE) != 0 &&
           (of(&lapic->spurious) & SOFTWARE_ENABLE) != 0;
}

uint32_t lapic_destination(const struct lapic *lapic)
{
    return lapic_is_wide(lapic) ? lapic->command_high : lapic->command_high >> 24;
}
