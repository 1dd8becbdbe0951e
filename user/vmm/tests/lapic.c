/* Host test of the local interrupt controller: modes of the timer, priorities, end of interrupt. */
#include "../devices/lapic.c"

#include "../devices/lapic_msr.c"
#include "../devices/lapic_name.c"
#include "../devices/lapic_timer.c"

#include "../../libc/tests/check.h"

#define LVT_TIMER_OFFSET 0x320u
#define TSC_KHZ 2000000ul

static struct lapic lapic;

static void reset(uint32_t timer_entry)
{
    lapic_init(&lapic, 0, TSC_KHZ);
    lapic_write(&lapic, REG_SPURIOUS, 0x1ff, 0);
    lapic_write(&lapic, REG_DIVIDE, 0xb, 0); /* by 1 */
    lapic_write(&lapic, LVT_TIMER_OFFSET, timer_entry, 0);
}

static void counts_once(void)
{
    reset(0x40);
    lapic_write(&lapic, REG_INITIAL_COUNT, 1000, 50);
    CHECK(lapic.next == 1050 && lapic_read(&lapic, REG_CURRENT_COUNT, 550) == 500);
    lapic_expire(&lapic, 1049);
    CHECK(lapic.output == 0);
    lapic_expire(&lapic, 1050);
    CHECK(lapic.output == 0x40 && lapic.next == LAPIC_NEVER && lapic_read(&lapic, REG_CURRENT_COUNT, 1050) == 0);
}

static void merges_missed_periods(void)
{
    reset(0x40 | TIMER_PERIODIC);
    lapic_write(&lapic, REG_INITIAL_COUNT, 1000000, 0);
    lapic_expire(&lapic, 3500000);
    CHECK(lapic.output == 0x40 && lapic.next == 4000000 && lapic_read(&lapic, REG_CURRENT_COUNT, 3600000) == 400000);
}

/* However short the period, interrupts leave time between them. */
static void limits_the_rate(void)
{
    reset(0x40 | TIMER_PERIODIC);
    lapic_write(&lapic, REG_INITIAL_COUNT, 1, 0);
    for (uint64_t now = 0; now < 100 * PERIOD_LEAST_NS;) {
        CHECK(lapic.next >= now + PERIOD_LEAST_NS);
        now = lapic.next;
        lapic_expire(&lapic, now);
    }
    CHECK(lapic.output == 0x40);
}

static void obeys_deadlines(void)
{
    reset(0x40);
    lapic_set_deadline(&lapic, 5000, 1000, 0);
    CHECK(lapic.next == LAPIC_NEVER); /* not in this mode */
    reset(0x40 | TIMER_DEADLINE);
    lapic_set_deadline(&lapic, 5000, 1000, 100);
    CHECK(lapic.next == 100 + 2000 + DEADLINE_SLACK_NS);
    lapic_set_deadline(&lapic, 500, 1000, 100);
    CHECK(lapic.next == 100); /* it has passed */
    lapic_set_deadline(&lapic, ~0ul, 1000, 100);
    CHECK(lapic.next == LAPIC_NEVER);
    lapic_set_deadline(&lapic, 5000, 1000, 100);
    lapic_write(&lapic, LVT_TIMER_OFFSET, 0x40, 200);
    CHECK(lapic.next == LAPIC_NEVER && lapic.deadline == 0); /* another mode disarms */
}

static void masks_and_ranks(void)
{
    reset(0x40 | LVT_MASKED);
    lapic_write(&lapic, REG_INITIAL_COUNT, 10, 0);
    lapic_expire(&lapic, 10);
    CHECK(lapic.output == 0);
    lapic_request(&lapic, 15); /* reserved */
    CHECK(lapic.output == 0);
    lapic_request(&lapic, 0x41);
    lapic_request(&lapic, 0x82);
    CHECK(lapic.output == 0x82);
    lapic_acknowledge(&lapic);
    CHECK(lapic.output == 0); /* 0x41 ranks below what is in service */
    lapic_write(&lapic, REG_END, 0, 20);
    CHECK(lapic.output == 0x41);
    lapic_write(&lapic, REG_TASK_PRIORITY, 0x50, 20);
    CHECK(lapic.output == 0);
}

/* The guest ends an interrupt through the shared word, but never one that another waits for. */
static void shares_the_end(void)
{
    uint32_t word = 0;
    reset(0x40);
    lapic_share_end(&lapic, &word);
    lapic_request(&lapic, 0x41);
    lapic_acknowledge(&lapic);
    CHECK(word == 1);
    lapic_catch_up(&lapic); /* not ended yet */
    CHECK(lapic_read(&lapic, REG_IN_SERVICE + 0x20, 0) == 2);
    word = 0;
    lapic_catch_up(&lapic);
    CHECK(lapic_read(&lapic, REG_IN_SERVICE + 0x20, 0) == 0);

    lapic_request(&lapic, 0x41);
    lapic_acknowledge(&lapic);
    lapic_request(&lapic, 0x42); /* waits for the end of 0x41 */
    CHECK(word == 0 && lapic.output == 0);
    lapic_catch_up(&lapic);
    CHECK(lapic.output == 0);
    lapic_write(&lapic, REG_END, 0, 0);
    CHECK(lapic.output == 0x42);
    lapic_request(&lapic, 0x81);
    lapic_acknowledge(&lapic); /* 0x81 while 0x42 is pending: its end delivers 0x42 */
    CHECK(word == 0);
    lapic_write(&lapic, REG_END, 0, 0);
    lapic_acknowledge(&lapic);
    CHECK(word == 1);
    lapic_request(&lapic, 0x81);
    lapic_acknowledge(&lapic); /* on top of 0x42 */
    CHECK(word == 0);
    lapic_write(&lapic, REG_END, 0, 0);
    lapic_write(&lapic, REG_END, 0, 0);
    CHECK(highest(lapic.isr) == 0);

    lapic_request(&lapic, 0x41);
    lapic_acknowledge(&lapic);
    lapic_write(&lapic, REG_END, 0, 0); /* by a guest that does not look at the word */
    CHECK(word == 0 && highest(lapic.isr) == 0);
    lapic_request(&lapic, 0x41);
    lapic_acknowledge(&lapic);
    lapic_share_end(&lapic, 0);
    CHECK(word == 0);
    lapic_catch_up(&lapic);
    CHECK(highest(lapic.isr) == 0x41);
}

/* The end of an interrupt that a level has requested is told, and never left to the shared word. */
static void tells_of_levels(void)
{
    static const uint64_t level[4] = {0, 2, 0, 0}; /* vector 0x41 */
    uint32_t word = 0;
    reset(0x40);
    lapic_share_end(&lapic, &word);
    lapic_take(&lapic, level, level);
    lapic_acknowledge(&lapic);
    CHECK(word == 0 && lapic.ended == 0 && lapic_read(&lapic, REG_TRIGGER + 0x20, 0) == 2);
    lapic_write(&lapic, REG_END, 0, 0);
    CHECK(lapic.ended == 0x41);
    lapic.ended = 0;
    lapic_take(&lapic, level, (const uint64_t[4]){0}); /* the same vector, by an edge */
    lapic_acknowledge(&lapic);
    CHECK(word == 1);
    lapic_write(&lapic, REG_END, 0, 0);
    CHECK(lapic.ended == 0);
    lapic_write(&lapic, REG_END, 0, 0); /* of nothing */
    CHECK(lapic.ended == 0);
    lapic_write(&lapic, REG_SPURIOUS, 0xff, 0); /* switched off: takes nothing */
    lapic_take(&lapic, level, level);
    CHECK(lapic_read(&lapic, REG_REQUEST + 0x20, 0) == 0);
}

static void changes_mode(void)
{
    uint64_t value = 0;
    lapic_init(&lapic, 5, TSC_KHZ);
    CHECK(lapic.base == (LAPIC_ADDRESS | BASE_ENABLE) && lapic_read(&lapic, REG_ID, 0) == 5u << 24);
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE | BASE_WIDE, 0) == 0); /* not announced */
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_WIDE, 1) == 0);
    CHECK(lapic_set_base(&lapic, 0xfee01000 | BASE_ENABLE, 1) == 0);
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS, 1) == 1);
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE | BASE_WIDE, 1) == 0); /* from "off" */
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE, 1) == 1 && lapic_in_memory(&lapic));
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE | BASE_WIDE, 1) == 1 && lapic_is_wide(&lapic));
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE, 1) == 0); /* back */
    CHECK(lapic_msr_read(&lapic, 0x802, 0, &value) && value == 5);
    CHECK(lapic_msr_read(&lapic, 0x80d, 0, &value) && value == 1u << 5);
    CHECK(lapic_msr_read(&lapic, 0x80b, 0, &value) == 0 && lapic_msr_write(&lapic, 0x802, 1, 0) == 0);
    CHECK(lapic_msr_write(&lapic, 0x80b, 1, 0) == 0 && lapic_msr_write(&lapic, 0x80b, 0, 0) == 1);
    CHECK(lapic_msr_write(&lapic, 0x838, 1ul << 32, 0) == 0);
    CHECK(lapic_msr_write(&lapic, 0x831, 0, 0) == 0 && lapic_msr_read(&lapic, 0x80e, 0, &value) == 0);
    CHECK(lapic_msr_write(&lapic, 0x830, 0x700000041, 0) == 1 && lapic.sent && lapic_destination(&lapic) == 7);
    CHECK(lapic_msr_write(&lapic, 0x80f, 0x1ff, 0) == 1 && lapic_msr_write(&lapic, 0x83f, 0x51, 0) == 1);
    CHECK(lapic.output == 0x51);
    lapic_reset(&lapic); /* by INIT */
    CHECK(lapic.output == 0 && lapic_is_wide(&lapic) && lapic.identifier == 5 && lapic.sent == 0);
}

static void answers_to_names(void)
{
    lapic_init(&lapic, 3, TSC_KHZ);
    CHECK(lapic_is_named(&lapic, 3, 0, 0) && lapic_is_named(&lapic, 2, 0, 0) == 0);
    CHECK(lapic_is_named(&lapic, 0xff, 0, 0) && lapic_is_named(&lapic, 0xff, 1, 0));
    CHECK(lapic_is_named(&lapic, 0xff, 0, 1) == 0 && lapic_is_named(&lapic, 0xffffffff, 0, 1));
    CHECK(lapic_is_named(&lapic, 8, 1, 0) == 0); /* it has no logical name yet */
    lapic_write(&lapic, REG_LOGICAL_DESTINATION, 8u << 24, 0);
    CHECK(lapic_is_named(&lapic, 0xc, 1, 0) && lapic_is_named(&lapic, 7, 1, 0) == 0);
    lapic_write(&lapic, REG_DESTINATION_FORMAT, 0x0fffffff, 0); /* clusters */
    lapic_write(&lapic, REG_LOGICAL_DESTINATION, 0x24u << 24, 0);
    CHECK(lapic_is_named(&lapic, 0x2c, 1, 0) && lapic_is_named(&lapic, 0x1c, 1, 0) == 0);
    CHECK(lapic_set_base(&lapic, LAPIC_ADDRESS | BASE_ENABLE | BASE_WIDE, 1));
    CHECK(lapic_is_named(&lapic, 8, 1, 1) && lapic_is_named(&lapic, 0x10008, 1, 1) == 0);
}

int main(void)
{
    counts_once();
    merges_missed_periods();
    limits_the_rate();
    obeys_deadlines();
    masks_and_ranks();
    shares_the_end();
    tells_of_levels();
    changes_mode();
    answers_to_names();
    return 0;
}
