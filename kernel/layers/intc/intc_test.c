/* Lines reach the CPU they are routed to, only while they are unmasked; CPUs interrupt each other. */
#include "arch.h"
#include "hosted.h"
#include "intc.h"
#include "test.h"

#define LINE 9u

int main(void)
{
    hosted_reset(3);
    intc_route(LINE, 2, INTC_LEVEL | INTC_ACTIVE_LOW);
    CHECK_EQUAL(intc_masked(LINE), 1);
    CHECK_EQUAL(hosted_line_open(LINE), 0);
    intc_unmask(LINE);
    CHECK_EQUAL(intc_masked(LINE), 0);
    CHECK_EQUAL(hosted_line_open(LINE), 1);
    hosted_raise_line(LINE);
    CHECK_EQUAL(hosted_raised(2, VECTOR_BASE + LINE), 1);
    CHECK_EQUAL(hosted_raised(0, VECTOR_BASE + LINE), 0);
    hosted_lower(2, VECTOR_BASE + LINE);

    intc_mask(LINE);
    CHECK_EQUAL(intc_masked(LINE), 1);
    hosted_raise_line(LINE);
    CHECK_EQUAL(hosted_raised(2, VECTOR_BASE + LINE), 0);

    intc_route(LINE, 1, 0); /* routing again masks */
    CHECK_EQUAL(intc_masked(LINE), 1);
    CHECK_EQUAL(hosted_line_open(LINE), 0);

    intc_send(1, VECTOR_RESCHEDULE);
    CHECK_EQUAL(hosted_raised(1, VECTOR_RESCHEDULE), 1);
    CHECK_EQUAL(hosted_raised(0, VECTOR_RESCHEDULE), 0);
    hosted_set_cpu(1);
    CHECK_EQUAL(arch_interrupt_pending(), 1);
    CHECK_EQUAL(arch_interrupt_poll(), VECTOR_RESCHEDULE);
    intc_end();
    CHECK_EQUAL(arch_interrupt_pending(), 0);
    return TEST_END();
}
