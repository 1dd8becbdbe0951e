/* The timer of this CPU. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define MSR_TSC_DEADLINE 0x6e0u
#define APIC_TIMER_INITIAL 0x380u
#define LONGEST 0xfffffffful /* ticks that the local timer counts */

static uint64_t tsc_base; /* the counter at time 0 */
static uint64_t tsc_per_ns;
static uint64_t ticks_per_ns; /* of the local timer */
static uint32_t use_deadline;

/* The processor's counter at a time, behind it by less than two steps; its largest value for times that it does not reach. */
static uint64_t tsc_at(uint64_t ns)
{
    uint64_t low = machine_scale(ns, tsc_per_ns);
    uint64_t high = machine_scale_rest(ns, tsc_per_ns);
    low = low + 1ul;
    if (low == 0ul) {
        high = high + 1ul;
    }
    if (high != 0ul || low > ~tsc_base) {
        return ~0ul;
    }
    return tsc_base + low;
}

void arch_timer_arm(uint64_t deadline_ns)
{
    if (use_deadline != 0u) {
        uint64_t at = tsc_at(deadline_ns);
        machine_write_msr(MSR_TSC_DEADLINE, at);
        return;
    }
    uint64_t now = arch_clock_ns();
    uint64_t ticks = 1ul;
    if (deadline_ns > now) {
        uint64_t wait = deadline_ns - now;
        if (wait >> 40 != 0ul) {
            ticks = LONGEST;
        } else {
            ticks = machine_scale(wait, ticks_per_ns);
            ticks = ticks + 1ul;
        }
    }
    if (ticks > LONGEST) {
        ticks = LONGEST;
    }
    apic_write(APIC_TIMER_INITIAL, (uint32_t)ticks);
}

void arch_timer_stop(void)
{
    if (use_deadline != 0u) {
        machine_write_msr(MSR_TSC_DEADLINE, 0ul);
    } else {
        apic_write(APIC_TIMER_INITIAL, 0u);
    }
}
