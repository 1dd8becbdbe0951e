/* The local interrupt controller: its registers, and which interrupt it delivers. */
#include "devices/lapic.h"

#include "devices/lapic_parts.h"

#define REG_ID 0x020u
#define REG_VERSION 0x030u
#define REG_TASK_PRIORITY 0x080u
#define REG_PROCESSOR_PRIORITY 0x0a0u
#define REG_END 0x0b0u
#define REG_LOGICAL_DESTINATION 0x0d0u
#define REG_DESTINATION_FORMAT 0x0e0u
#define REG_SPURIOUS 0x0f0u
#define REG_IN_SERVICE 0x100u
#define REG_TRIGGER 0x180u
#define REG_REQUEST 0x200u
#define REG_COMMAND_LOW 0x300u
#define REG_COMMAND_HIGH 0x310u
#define REG_LVT 0x320u
#define REG_INITIAL_COUNT 0x380u
#define REG_CURRENT_COUNT 0x390u
#define REG_DIVIDE 0x3e0u

#define VERSION (0x14u | (LAPIC_NUM_LVT - 1) << 16)
#define LVT_LINT0 3u
#define LVT_MODE 0x700u /* delivery */
#define LVT_EXTERNAL 0x700u
#define COMMAND_LOW_FIELDS 0xccfffu

static uint32_t highest(const uint64_t set[4])
{
    for (uint32_t i = 4; i > 0; i--) {
        if (set[i - 1] != 0) {
            return (i - 1) * 64 + 63 - (uint32_t)__builtin_clzl(set[i - 1]);
        }
    }
    return 0;
}

static uint32_t processor_priority(const struct lapic *lapic)
{
    uint32_t serving = highest(lapic->isr) & 0xf0;
    return lapic->task_priority >= serving ? lapic->task_priority : serving;
}

static uint32_t is_set(const uint64_t set[4], uint32_t vector)
{
    return set[vector / 64] >> (vector % 64) & 1;
}

static void update(struct lapic *lapic)
{
    uint32_t vector = highest(lapic->irr);
    lapic->output = lapic_accepts(lapic) && (vector & 0xf0) > (processor_priority(lapic) & 0xf0) ? vector : 0;
}

/* Whether the guest may end the interrupt in service without an exit: not while another one waits for that end. */
static void offer_end(struct lapic *lapic, uint32_t offered)
{
    if (lapic->shared_end != 0 && lapic->end_offered != offered) {
        lapic->end_offered = offered;
        *lapic->shared_end = offered;
    }
}

void lapic_request(struct lapic *lapic, uint32_t vector)
{
    if (vector >= 16) {
        offer_end(lapic, 0);
        lapic->irr[vector / 64] |= 1ul << (vector % 64);
        lapic->tmr[vector / 64] &= ~(1ul << (vector % 64));
        update(lapic);
    }
}

void lapic_take(struct lapic *lapic, const uint64_t interrupt[4], const uint64_t level[4])
{
    if (lapic_accepts(lapic) == 0 || highest(interrupt) == 0) {
        return;
    }
    offer_end(lapic, 0);
    for (uint32_t i = 0; i < 4; i++) {
        lapic->irr[i] |= interrupt[i];
        lapic->tmr[i] = (lapic->tmr[i] & ~interrupt[i]) | level[i];
    }
    update(lapic);
}

static void start(struct lapic *lapic, uint64_t base, uint32_t identifier, uint64_t tsc_khz)
{
    *lapic = (struct lapic){
        .base = base,
        .identifier = identifier,
        .spurious = 0xff,
        .destination_format = 0xffffffff,
        .tsc_khz = tsc_khz,
        .next = LAPIC_NEVER,
    };
    for (uint32_t i = 0; i < LAPIC_NUM_LVT; i++) {
        lapic->lvt[i] = LVT_MASKED;
    }
    if ((base & BASE_BOOTSTRAP) != 0) {
        lapic->lvt[LVT_LINT0] = LVT_EXTERNAL; /* as firmware leaves it */
    }
}

void lapic_init(struct lapic *lapic, uint32_t identifier, uint64_t tsc_khz)
{
    start(lapic, LAPIC_ADDRESS | BASE_ENABLE | (identifier == 0 ? BASE_BOOTSTRAP : 0), identifier, tsc_khz);
}

void lapic_reset(struct lapic *lapic)
{
    start(lapic, lapic->base, lapic->identifier, lapic->tsc_khz);
}

void lapic_acknowledge(struct lapic *lapic)
{
    uint32_t vector = lapic->output;
    lapic->irr[vector / 64] &= ~(1ul << (vector % 64));
    uint32_t alone = highest(lapic->isr) == 0 && highest(lapic->irr) == 0 && is_set(lapic->tmr, vector) == 0;
    lapic->isr[vector / 64] |= 1ul << (vector % 64);
    update(lapic);
    offer_end(lapic, alone);
}

static void end_of_interrupt(struct lapic *lapic)
{
    uint32_t vector = highest(lapic->isr);
    offer_end(lapic, 0);
    if (is_set(lapic->isr, vector) && is_set(lapic->tmr, vector)) {
        lapic->ended = vector;
    }
    lapic->isr[vector / 64] &= ~(1ul << (vector % 64));
    update(lapic);
}

void lapic_share_end(struct lapic *lapic, volatile uint32_t *word)
{
    offer_end(lapic, 0);
    lapic->shared_end = word;
}

void lapic_catch_up(struct lapic *lapic)
{
    if (lapic->end_offered && *lapic->shared_end == 0) {
        end_of_interrupt(lapic);
    }
}

uint32_t lapic_in_memory(const struct lapic *lapic)
{
    return (lapic->base & (BASE_ENABLE | BASE_WIDE)) == BASE_ENABLE;
}

uint32_t lapic_is_wide(const struct lapic *lapic)
{
    return (lapic->base & BASE_WIDE) != 0;
}

/* Of the modes, x2APIC is entered from xAPIC and left for "off" only, as on processors. */
uint32_t lapic_set_base(struct lapic *lapic, uint64_t value, uint32_t has_x2apic)
{
    uint64_t mode = value & (BASE_ENABLE | BASE_WIDE), old = lapic->base & (BASE_ENABLE | BASE_WIDE);
    if ((value & ~(mode | BASE_BOOTSTRAP)) != LAPIC_ADDRESS || mode == BASE_WIDE) {
        return 0; /* not another address */
    }
    if ((mode & BASE_WIDE) != 0 ? has_x2apic == 0 || old == 0 : (old & BASE_WIDE) != 0 && mode != 0) {
        return 0;
    }
    lapic->base = mode | LAPIC_ADDRESS | (lapic->base & BASE_BOOTSTRAP);
    if (mode != old && (mode & BASE_WIDE) != 0) {
        lapic->command_high = 0;
    }
    update(lapic);
    return 1;
}

uint32_t lapic_passes_pic(const struct lapic *lapic)
{
    return (lapic->base & BASE_ENABLE) == 0 || (lapic->lvt[LVT_LINT0] & (LVT_MASKED | LVT_MODE)) == LVT_EXTERNAL;
}

uint32_t lapic_read(struct lapic *lapic, uint32_t offset, uint64_t now)
{
    uint32_t reg = offset & 0xff0;
    if (reg >= REG_LVT && reg < REG_LVT + 0x10 * LAPIC_NUM_LVT) {
        return lapic->lvt[(reg - REG_LVT) >> 4];
    }
    if (reg >= REG_IN_SERVICE && reg < REG_IN_SERVICE + 0x80) {
        uint32_t i = (reg - REG_IN_SERVICE) >> 4;
        return (uint32_t)(lapic->isr[i / 2] >> (i % 2 * 32));
    }
    if (reg >= REG_TRIGGER && reg < REG_TRIGGER + 0x80) {
        uint32_t i = (reg - REG_TRIGGER) >> 4;
        return (uint32_t)(lapic->tmr[i / 2] >> (i % 2 * 32));
    }
    if (reg >= REG_REQUEST && reg < REG_REQUEST + 0x80) {
        uint32_t i = (reg - REG_REQUEST) >> 4;
        return (uint32_t)(lapic->irr[i / 2] >> (i % 2 * 32));
    }
    switch (reg) {
    case REG_ID:
        return lapic->identifier << 24;
    case REG_VERSION:
        return VERSION;
    case REG_TASK_PRIORITY:
        return lapic->task_priority;
    case REG_PROCESSOR_PRIORITY:
        return processor_priority(lapic);
    case REG_LOGICAL_DESTINATION:
        return lapic->logical_destination;
    case REG_DESTINATION_FORMAT:
        return lapic->destination_format;
    case REG_SPURIOUS:
        return lapic->spurious;
    case REG_COMMAND_LOW:
        return lapic->command_low;
    case REG_COMMAND_HIGH:
        return lapic->command_high;
    case REG_INITIAL_COUNT:
        return lapic->initial_count;
    case REG_CURRENT_COUNT:
        return lapic_current_count(lapic, now);
    case REG_DIVIDE:
        return lapic->divide;
    default: /* among others the error status: there are no errors */
        return 0;
    }
}

static void write_lvt(struct lapic *lapic, uint32_t index, uint32_t value)
{
    if (index == LVT_TIMER) {
        lapic_set_timer(lapic, value & 0x700ffu);
    } else {
        lapic->lvt[index] = value & 0x1a7ffu;
    }
}

void lapic_write(struct lapic *lapic, uint32_t offset, uint32_t value, uint64_t now)
{
    uint32_t reg = offset & 0xff0;
    if (reg >= REG_LVT && reg < REG_LVT + 0x10 * LAPIC_NUM_LVT) {
        write_lvt(lapic, (reg - REG_LVT) >> 4, value);
        return;
    }
    switch (reg) {
    case REG_END:
        end_of_interrupt(lapic);
        break;
    case REG_TASK_PRIORITY:
        lapic->task_priority = value & 0xff;
        update(lapic);
        break;
    case REG_LOGICAL_DESTINATION:
        lapic->logical_destination = value & 0xff000000;
        break;
    case REG_DESTINATION_FORMAT:
        lapic->destination_format = value | 0x0fffffff;
        break;
    case REG_SPURIOUS:
        lapic->spurious = value & 0x1ff;
        update(lapic);
        break;
    case REG_COMMAND_LOW:
        lapic->command_low = value & COMMAND_LOW_FIELDS;
        lapic->sent = 1;
        break;
    case REG_COMMAND_HIGH:
        lapic->command_high = value & 0xff000000;
        break;
    case REG_INITIAL_COUNT:
        lapic_load_counter(lapic, value, now);
        break;
    case REG_DIVIDE:
        lapic->divide = value & 0xb;
        break;
    default: /* read-only or unused */
        break;
    }
}
