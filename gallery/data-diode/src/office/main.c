/* Looks at the plant's readings at its own pace. It cannot ask for one, so it may miss some; what it takes is whole. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "board.h"

#define BOARD_ADDRESS 0x20000000ul
#define PERIOD 25000000ul /* ns */
#define PATIENCE 1000000ul
#define READINGS_A_LINE 40u

/* Copies the newest reading. Returns its number; 0 if there is none, or the plant was writing just now. */
static uint64_t take(const struct board *board, uint64_t *value)
{
    uint64_t done = __atomic_load_n(&board->done, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < NUM_VALUE; i++) {
        value[i] = __atomic_load_n(&board->value[i], __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&board->begun, __ATOMIC_RELAXED) == done ? done : 0;
}

/* The page is there once the plant has offered it. */
static void accept(uint32_t share)
{
    uint32_t status = sys_share_accept(share, BOARD_ADDRESS, PROT_READ);

    while (status == ERR_WOULD_BLOCK) {
        sys_sleep(sys_clock() + PATIENCE);
        status = sys_share_accept(share, BOARD_ADDRESS, PROT_READ);
    }
    if (status != STATUS_OK) {
        panic("accepting the page: error %u\n", status);
    }
}

int main(void)
{
    const struct board *board = (const struct board *)BOARD_ADDRESS;
    uint64_t value[NUM_VALUE];
    uint64_t last = 0, taken = 0;

    accept(env_slot("share.readings"));
    for (;;) {
        sys_sleep(sys_clock() + PERIOD);
        uint64_t reading = take(board, value);
        if (reading == 0 || reading == last) {
            continue;
        }
        for (uint32_t i = 0; i < NUM_VALUE; i++) {
            if (value[i] != measured(reading, i)) {
                panic("reading %lu is torn: value %u is %lu\n", reading, i, value[i]);
            }
        }
        last = reading;
        taken++;
        if (taken % READINGS_A_LINE == 0) {
            print("OFFICE %lu readings taken, the last is number %lu\n", taken, reading);
        }
    }
}
