/* The timer protocol: the domain itself is at the other end. */
#include "ashlar/syscall.h"
#include "domain_internal.h"
#include "timer_protocol.h"

static uint64_t fires = DEADLINE_NEVER;
static struct pending fired;
static struct pending cancelled;

void timer_emit(uint32_t number, const void *payload)
{
    if ((TIMER_NUMBER << 8 | number) == TIMER_ARM) {
        fires = sys_clock() + ((const struct timer_arm *)payload)->nanoseconds;
    } else {
        fires = DEADLINE_NEVER;
        domain_append(&cancelled, TIMER_CANCELLED, 0);
    }
}

uint64_t timer_deadline(void)
{
    return fires;
}

void timer_check(void)
{
    if (fires != DEADLINE_NEVER && sys_clock() >= fires) {
        fires = DEADLINE_NEVER;
        domain_append(&fired, TIMER_FIRED, 0);
    }
}
