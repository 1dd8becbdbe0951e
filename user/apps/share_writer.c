/* Offers a page of its memory in share `board`, writes a text and then a sequence of numbers into it, and withdraws
 * nothing: the page stays with the reader even after this process has ended. Signals each step to the reader by
 * notification `written` and waits for notification `read`. Argument `steps`: numbers written (default 1000). */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define BOARD_ADDRESS 0x10000000ul

int main(void)
{
    volatile uint64_t *board = (volatile uint64_t *)BOARD_ADDRESS;
    uint32_t written = env_slot("notification.written");
    uint32_t read = env_slot("notification.read");
    uint64_t steps = env_arg_u64("steps", 1000);
    uint64_t bits;
    uint32_t status = sys_mem_map(BOARD_ADDRESS, 1, PROT_READ | PROT_WRITE);

    if (status == STATUS_OK) {
        status = sys_share_offer(env_slot("share.board"), BOARD_ADDRESS);
    }
    if (status != STATUS_OK) {
        panic("offering the board: error %u\n", status);
    }
    for (uint64_t i = 1; i <= steps; i++) {
        board[i % 512] = i;
        sys_signal(written);
        status = sys_wait(read, DEADLINE_NEVER, &bits);
        if (status != STATUS_OK) {
            panic("waiting for the reader: error %u\n", status);
        }
    }
    print("WRITER done: %lu steps\n", steps);
    return 0;
}
