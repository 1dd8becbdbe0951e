/* Accepts the page offered in share `board` read-only and checks each number that the writer announces.
 * Argument `steps`: numbers to read (default 1000). */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define BOARD_ADDRESS 0x20000000ul

int main(void)
{
    const volatile uint64_t *board = (const volatile uint64_t *)BOARD_ADDRESS;
    uint32_t written = env_slot("notification.written");
    uint32_t read = env_slot("notification.read");
    uint64_t steps = env_arg_u64("steps", 1000);
    uint64_t bits;

    for (uint64_t i = 1; i <= steps; i++) {
        uint32_t status = sys_wait(written, DEADLINE_NEVER, &bits);
        if (status != STATUS_OK) {
            panic("waiting for the writer: error %u\n", status);
        }
        if (i == 1) {
            /* The writer offers before it first signals, so the offer stands. */
            status = sys_share_accept(env_slot("share.board"), BOARD_ADDRESS, PROT_READ);
            if (status != STATUS_OK) {
                panic("accepting the board: error %u\n", status);
            }
        }
        if (board[i % 512] != i) {
            panic("step %lu: the board says %lu\n", i, board[i % 512]);
        }
        sys_signal(read);
    }
    print("READER done: %lu steps, all as written\n", steps);
    return 0;
}
