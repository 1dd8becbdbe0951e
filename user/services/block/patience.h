/* How long a client waits for the disk. What it is owed, an answer to `recover`, `stop` or `flush`, it is owed whatever became of the
 * driver, which may be gone for good. While any client waits a timer ticks. One that sees a second tick is answered that it failed,
 * so after PATIENCE to twice as long. */
#ifndef BLOCK_PATIENCE_H
#define BLOCK_PATIENCE_H

#include "block.h"

#define PATIENCE 20000000000ul /* ns: longer than a command may take (queue.h), aborted and tried again */

static uint32_t is_ticking;

/* The client whose turn it is has to wait. */
static void patience_begin(void)
{
    struct timer_arm body = {PATIENCE};

    if (!is_ticking) {
        is_ticking = 1;
        EMIT(TIMER_ARM, 0, &body);
    }
}

#endif
