/* What other virtual CPUs and devices leave for a virtual CPU: interrupts, and the events that start and stop it. Any thread puts
 * things in; only the thread of the CPU takes them out. No lock: each word is changed by atomic operations. */
#ifndef VMM_INBOX_H
#define VMM_INBOX_H

#include <stdint.h>

#define INBOX_INIT 1u
#define INBOX_START 2u /* a start-up message; its vector is in bits 8..15 */
#define INBOX_NMI 4u

struct inbox {
    uint64_t interrupt[4]; /* vectors that wait, a bit each */
    uint64_t level[4];     /* those of them that a level has requested, at the I/O controller */
    uint32_t events;       /* INBOX_* */
    uint32_t full;         /* 1: there may be something */
};

/* Requires, of both: vector < 256. */
void inbox_interrupt(struct inbox *inbox, uint32_t vector, uint32_t is_level);
/* Of several start-up messages the first counts; INIT makes those before it void. */
void inbox_start(struct inbox *inbox, uint32_t vector);
void inbox_init(struct inbox *inbox);
void inbox_nmi(struct inbox *inbox);
/* Nothing, but the CPU's thread is to look around once more before it is away. */
void inbox_poke(struct inbox *inbox);

/* May there be something? */
static inline uint32_t inbox_is_full(const struct inbox *inbox)
{
    return __atomic_load_n(&inbox->full, __ATOMIC_SEQ_CST);
}

/* Moves what there is to `taken`. */
void inbox_take(struct inbox *inbox, struct inbox *taken);
/* Nothing is left. Requires that no other thread puts anything in. */
void inbox_clear(struct inbox *inbox);

#endif
