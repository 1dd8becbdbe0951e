/* The timer protocol: the domain itself is at the other end. */
#include "ashlar/syscall.h"
#include "domain_internal.h"
#include "timer_protocol.h"

static struct pending fired;
static struct pending cancelled;

void timer_emit(uint32_t number, const void *payload)
{
    if ((TIMER_NUMBER << 8 | number) == TIMER_ARM) {
        domain.timer_fires = sys_clock() + ((const struct timer_arm *)payload)->nanoseconds;
    } else {
        domain.timer_fires = DEADLINE_NEVER;
        domain_append(&cancelled, TIMER_CANCELLED, 0);
    }
}

void timer_has_fired(void)
{
    domain.timer_fires = DEADLINE_NEVER;
    domain_append(&fired, TIMER_FIRED, 0);
}
