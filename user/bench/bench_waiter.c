/* The higher-priority process that bench_ipc wakes, by a signal or by an interrupt of the machine's interval timer, both
 * through notification `wake`. Stamps the shared page as the first thing after each wake-up. */
#include "bench.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

int main(void)
{
    volatile uint64_t *board = (volatile uint64_t *)BOARD_ADDRESS;
    uint32_t wake = env_slot("notification.wake");
    uint32_t timer = env_slot("interrupt.pit");
    uint64_t bits = 0;
    uint32_t status = sys_wait(wake, DEADLINE_NEVER, &bits);

    if (status == STATUS_OK) {
        /* bench_ipc offers the page before its first signal. */
        status = sys_share_accept(env_slot("share.board"), BOARD_ADDRESS, PROT_READ | PROT_WRITE);
    }
    if (status != STATUS_OK) {
        panic("accepting the board: error %u\n", status);
    }
    /* The interval timer fired during start-up, perhaps: an acknowledgement too many does no harm. */
    sys_irq_ack(timer);
    board[BOARD_ROUND] = 1;
    for (;;) {
        status = sys_wait(wake, DEADLINE_NEVER, &bits);
        board[BOARD_WOKEN] = timestamp();
        if (status != STATUS_OK || bits == 0) {
            panic("waiting: bits 0x%lx, error %u\n", bits, status);
        }
        bits = 0;
        sys_irq_ack(timer);
        board[BOARD_ROUND]++;
    }
}
