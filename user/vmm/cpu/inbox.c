/* What other threads leave for a virtual CPU. `full` is set after what it speaks of, and cleared before that is looked at, so
 * nothing is overlooked. */
#include "cpu/inbox.h"

static void announce(struct inbox *inbox)
{
    __atomic_store_n(&inbox->full, 1, __ATOMIC_SEQ_CST);
}

void inbox_interrupt(struct inbox *inbox, uint32_t vector, uint32_t is_level)
{
    uint64_t bit = 1ul << (vector % 64);
    if (is_level) {
        __atomic_fetch_or(&inbox->level[vector / 64], bit, __ATOMIC_SEQ_CST);
    }
    __atomic_fetch_or(&inbox->interrupt[vector / 64], bit, __ATOMIC_SEQ_CST);
    announce(inbox);
}

void inbox_start(struct inbox *inbox, uint32_t vector)
{
    uint32_t old = __atomic_load_n(&inbox->events, __ATOMIC_SEQ_CST);
    while ((old & INBOX_START) == 0 &&
           __atomic_compare_exchange_n(&inbox->events, &old, old | INBOX_START | vector << 8, 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST) == 0) {
    }
    announce(inbox);
}

void inbox_init(struct inbox *inbox)
{
    __atomic_store_n(&inbox->events, INBOX_INIT, __ATOMIC_SEQ_CST);
    announce(inbox);
}

void inbox_nmi(struct inbox *inbox)
{
    __atomic_fetch_or(&inbox->events, INBOX_NMI, __ATOMIC_SEQ_CST);
    announce(inbox);
}

void inbox_poke(struct inbox *inbox)
{
    announce(inbox);
}

void inbox_take(struct inbox *inbox, struct inbox *taken)
{
    __atomic_store_n(&inbox->full, 0, __ATOMIC_SEQ_CST);
    taken->events = __atomic_exchange_n(&inbox->events, 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < 4; i++) {
        taken->interrupt[i] = __atomic_exchange_n(&inbox->interrupt[i], 0, __ATOMIC_SEQ_CST);
        taken->level[i] =
            __atomic_fetch_and(&inbox->level[i], ~taken->interrupt[i], __ATOMIC_SEQ_CST) & taken->interrupt[i];
    }
}

void inbox_clear(struct inbox *inbox)
{
    *inbox = (struct inbox){0};
}
