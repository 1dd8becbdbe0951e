/* Time: the TSC, scaled to nanoseconds, is the clock; the local timer (or the TSC deadline) gives alarms.
 *
 * Calibration: a window is the span between two readings of (reference, TSC, local timer). Each reading brackets the
 * reference between two TSC readings and the narrowest of several brackets is taken, so a pause by the host spoils a
 * bracket and not the result; of several windows the one with the narrowest brackets is used. A window ends early, and is
 * the last, once brackets and the reference's own steps are small against it. */
#include "clock/clock.h"

#include "interrupt/apic.h"
#include "cpu/constants.h"
#include "cpu/cpu.h"
#include "cpu/percpu.h"
#include "clock/reference.h"

#define WINDOWS 5u
#define BRACKETS 16u
#define WINDOW_NS 10000000ul
#define FINE 100000ul /* times the brackets and the step of the reference: a fine window, known to 20 millionths */
#define NS_PER_SECOND 1000000000ul

static uint64_t tsc_entry; /* when the kernel was entered */
MACHINE_CONSTANT static uint64_t tsc_base;
MACHINE_CONSTANT static uint64_t ns_per_tsc;   /* 32.32 fixed point */
MACHINE_CONSTANT static uint64_t ticks_per_ns; /* local timer, 32.32 */
static uint64_t tsc_per_ns;                    /* 32.32 */
static uint64_t tsc_hz, timer_hz;
MACHINE_CONSTANT static uint32_t use_deadline;

struct reading {
    uint64_t reference;
    uint64_t tsc;
    uint64_t timer;
    uint64_t width; /* of the bracket, TSC ticks */
};

void clock_note_entry(void)
{
    tsc_entry = read_tsc();
}

uint64_t clock_since_entry_us(void)
{
    return (read_tsc() - tsc_entry) / (tsc_hz / 1000000 + (tsc_hz < 1000000));
}

static uint64_t multiply_shift32(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 32);
}

static uint64_t scale(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    uint64_t whole = value / denominator;
    uint64_t rest = value % denominator;
    return whole * numerator + rest * numerator / denominator;
}

static struct reading take_reading(void)
{
    struct reading best = {0, 0, 0, ~0ul};
    for (uint32_t i = 0; i < BRACKETS; i++) {
        uint64_t before = read_tsc();
        uint64_t reference = reference_read();
        uint64_t timer = apic_read(APIC_REG_TIMER_CURRENT);
        uint64_t after = read_tsc();
        if (after - before < best.width) {
            best = (struct reading){reference, before + (after - before) / 2, timer, after - before};
        }
    }
    return best;
}

static int is_fine(const struct reading *first, const struct reading *last, uint64_t ns)
{
    return last->tsc - first->tsc >= FINE * (first->width + last->width) && ns >= FINE * reference_step_ns();
}

/* Measures one window; true if the reference moved. */
static int measure(struct reading *first, struct reading *last, uint64_t *ns)
{
    uint32_t turns = 0;

    reference_start();
    *first = take_reading();
    do {
        *last = take_reading();
        *ns = reference_ns(first->reference, last->reference);
        turns++;
    } while (*ns < WINDOW_NS && !is_fine(first, last, *ns) && turns < 10000000);
    return *ns >= WINDOW_NS || is_fine(first, last, *ns);
}

const char *clock_calibrate(void)
{
    uint64_t best_width = ~0ul;
    const char *name = reference_find();

    if (name == 0) {
        return 0;
    }
    apic_write(APIC_REG_TIMER_DIVIDE, 0xb); /* by 1 */
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct reading first, last;
        uint64_t ns;
        apic_write(APIC_REG_TIMER_INITIAL, 0xffffffff);
        if (!measure(&first, &last, &ns)) {
            return 0;
        }
        if (first.width + last.width < best_width) {
            best_width = first.width + last.width;
            tsc_hz = scale(last.tsc - first.tsc, NS_PER_SECOND, ns);
            timer_hz = scale(first.timer - last.timer, NS_PER_SECOND, ns);
        }
        if (is_fine(&first, &last, ns)) {
            break;
        }
    }
    apic_write(APIC_REG_TIMER_INITIAL, 0);
    if (tsc_hz == 0 || timer_hz == 0) {
        return 0;
    }
    ns_per_tsc = scale(NS_PER_SECOND, 1ul << 32, tsc_hz);
    tsc_per_ns = scale(tsc_hz, 1ul << 32, NS_PER_SECOND);
    ticks_per_ns = scale(timer_hz, 1ul << 32, NS_PER_SECOND);
    use_deadline = (cpuid(1, 0).ecx & 1u << 24) != 0;
    tsc_base = read_tsc();
    return name;
}

uint64_t clock_tsc_hz(void)
{
    return tsc_hz;
}

uint64_t clock_timer_hz(void)
{
    return use_deadline != 0 ? 0 : timer_hz;
}

void clock_init_cpu(void)
{
    apic_write(APIC_REG_TIMER_DIVIDE, 0xb);
    apic_write(APIC_REG_LVT_TIMER, use_deadline != 0 ? VECTOR_TIMER | APIC_TIMER_DEADLINE : VECTOR_TIMER);
    __asm__ volatile("mfence" : : : "memory"); /* mode before the first deadline */
    arch_timer_stop();
}

uint64_t arch_clock_ns(void)
{
    return multiply_shift32(read_tsc() - tsc_base, ns_per_tsc);
}

/* The TSC at a time of the clock; its largest value for times that it does not reach. */
static uint64_t tsc_at(uint64_t ns)
{
    unsigned __int128 ticks = ((unsigned __int128)ns * tsc_per_ns >> 32) + 1;
    return ticks > ~0ul - tsc_base ? ~0ul : tsc_base + (uint64_t)ticks;
}

void arch_timer_arm(uint64_t deadline_ns)
{
    if (use_deadline != 0) {
        write_msr(MSR_TSC_DEADLINE, tsc_at(deadline_ns));
        return;
    }
    uint64_t now = arch_clock_ns();
    uint64_t ticks = 1;
    if (deadline_ns > now) {
        uint64_t wait = deadline_ns - now;
        ticks = wait >> 40 != 0 ? 0xffffffff : multiply_shift32(wait, ticks_per_ns) + 1;
    }
    apic_write(APIC_REG_TIMER_INITIAL, ticks > 0xffffffff ? 0xffffffff : (uint32_t)ticks);
}

void arch_timer_stop(void)
{
    if (use_deadline != 0) {
        write_msr(MSR_TSC_DEADLINE, 0);
    } else {
        apic_write(APIC_REG_TIMER_INITIAL, 0);
    }
}
