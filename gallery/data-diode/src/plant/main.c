/* Writes a reading every 10 ms, whether or not anybody looks. It waits for nothing that the office could delay. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "board.h"

#define BOARD_ADDRESS 0x10000000ul
#define PERIOD 10000000ul /* ns */
#define ONCE_A_SECOND 100u

static void write_reading(struct board *board, uint64_t reading)
{
    __atomic_store_n(&board->begun, reading, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (uint32_t i = 0; i < NUM_VALUE; i++) {
        __atomic_store_n(&board->value[i], measured(reading, i), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&board->done, reading, __ATOMIC_RELEASE);
}

/* Is on the page what was written last? No other process can have changed it. */
static int is_untouched(const struct board *board, uint64_t reading)
{
    int same = board->begun == reading && board->done == reading;

    for (uint32_t i = 0; i < NUM_VALUE; i++) {
        same = same && board->value[i] == measured(reading, i);
    }
    return same;
}

int main(void)
{
    struct board *board = (struct board *)BOARD_ADDRESS;
    uint32_t status = sys_mem_map(BOARD_ADDRESS, 1, PROT_READ | PROT_WRITE);

    if (status == STATUS_OK) {
        status = sys_share_offer(env_slot("share.readings"), BOARD_ADDRESS);
    }
    if (status != STATUS_OK) {
        panic("offering the page: error %u\n", status);
    }
    uint64_t due = sys_clock() + PERIOD;
    for (uint64_t reading = 1;; reading++) {
        write_reading(board, reading);
        sys_sleep(due);
        due += PERIOD;
        if (!is_untouched(board, reading)) {
            panic("reading %lu was changed\n", reading);
        }
        if (reading % ONCE_A_SECOND == 0) {
            print("PLANT %lu readings, none changed\n", reading);
        }
    }
}
