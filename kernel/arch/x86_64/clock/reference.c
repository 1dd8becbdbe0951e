/* Reference clocks. */
#include "clock/reference.h"

#include "cpu/cpu.h"
#include "boot/platform.h"

#define HPET_CAPABILITIES 0x00u
#define HPET_CONFIGURATION 0x10u
#define HPET_COUNTER 0xf0u
#define HPET_MAX_PERIOD_FS 100000000u
#define FS_PER_NS 1000000ul
#define PM_TIMER_HZ 3579545ul
#define PIT_HZ 1193182ul
#define PIT_COMMAND 0x43
#define PIT_CHANNEL2 0x42
#define PIT_GATE 0x61
#define NS_PER_SECOND 1000000000ul

enum kind { KIND_NONE, KIND_HPET, KIND_PM_TIMER, KIND_PIT };

static enum kind kind;
static uint64_t period_fs; /* of the HPET */

static volatile uint64_t *hpet(uint32_t reg)
{
    return direct(platform.hpet + reg);
}

static uint64_t pit_read(void)
{
    uint64_t low;
    port_out8(PIT_COMMAND, 0x80); /* latch channel 2 */
    low = port_in8(PIT_CHANNEL2);
    return 0xffff - (low | (uint64_t)port_in8(PIT_CHANNEL2) << 8);
}

void reference_start(void)
{
    if (kind == KIND_PIT) { /* count down once from 65535: 54 ms */
        port_out8(PIT_GATE, (port_in8(PIT_GATE) & ~2) | 1);
        port_out8(PIT_COMMAND, 0xb0);
        port_out8(PIT_CHANNEL2, 0xff);
        port_out8(PIT_CHANNEL2, 0xff);
    }
}

uint64_t reference_read(void)
{
    if (kind == KIND_HPET) {
        return *hpet(HPET_COUNTER);
    }
    if (kind == KIND_PM_TIMER) {
        return port_in32((uint16_t)platform.pm_timer_port) & platform.pm_timer_mask;
    }
    return pit_read();
}

uint64_t reference_step_ns(void)
{
    if (kind == KIND_HPET) {
        return period_fs / FS_PER_NS + 1;
    }
    return NS_PER_SECOND / (kind == KIND_PM_TIMER ? PM_TIMER_HZ : PIT_HZ) + 1;
}

uint64_t reference_ns(uint64_t first, uint64_t last)
{
    if (kind == KIND_HPET) {
        return (last - first) * period_fs / FS_PER_NS;
    }
    if (kind == KIND_PM_TIMER) {
        return ((last - first) & platform.pm_timer_mask) * NS_PER_SECOND / PM_TIMER_HZ;
    }
    return ((last - first) & 0xffff) * NS_PER_SECOND / PIT_HZ;
}

static int moves(void)
{
    reference_start();
    uint64_t first = reference_read();
    for (uint32_t i = 0; i < 100000; i++) {
        if (reference_read() != first) {
            return 1;
        }
    }
    return 0;
}

const char *reference_find(void)
{
    if (platform.hpet != 0) {
        period_fs = *hpet(HPET_CAPABILITIES) >> 32;
        if (period_fs != 0 && period_fs <= HPET_MAX_PERIOD_FS) {
            *hpet(HPET_CONFIGURATION) =
                (*hpet(HPET_CONFIGURATION) & ~2ul) | 1; /* enabled, without legacy replacement of the PIT */
            kind = KIND_HPET;
            if (moves()) {
                return "HPET";
            }
        }
    }
    if (platform.pm_timer_port != 0) {
        kind = KIND_PM_TIMER;
        if (moves()) {
            return "ACPI timer";
        }
    }
    kind = KIND_PIT;
    if (moves()) {
        return "PIT";
    }
    kind = KIND_NONE;
    return 0;
}
