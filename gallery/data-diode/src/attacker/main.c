/* Tries every way back to the plant that a process could have, and prints what came of each. The last try is a plain write to the
 * page, which ends the process. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "board.h"

#define BOARD_ADDRESS 0x20000000ul
#define NUM_SLOT 64u
#define PATIENCE 1000000ul

static void expect(const char *try, uint32_t status, uint32_t expected)
{
    if (status != expected) {
        print("BREACH %s: status %u instead of %u\n", try, status, expected);
    } else {
        print("ATTACK %s: refused\n", try);
    }
}

/* Calls and signals through every slot. None of them leads to another process. */
static void try_slots(void)
{
    for (uint32_t slot = 0; slot < NUM_SLOT; slot++) {
        struct message message = {.count = 0};
        if (sys_signal(slot) != ERR_BAD_SLOT || message_send(slot, &message) != ERR_BAD_SLOT) {
            print("BREACH slot %u leads somewhere\n", slot);
        }
    }
    print("ATTACK every slot: refused\n");
}

int main(void)
{
    volatile struct board *board = (volatile struct board *)BOARD_ADDRESS;
    uint32_t share = env_slot("share.readings");
    uint32_t status;

    try_slots();
    do {
        sys_sleep(sys_clock() + PATIENCE);
        status = sys_share_accept(share, BOARD_ADDRESS, PROT_READ | PROT_WRITE);
    } while (status == ERR_WOULD_BLOCK);
    expect("mapping the page for writing", status, ERR_BAD_SLOT);
    do {
        sys_sleep(sys_clock() + PATIENCE);
        status = sys_share_accept(share, BOARD_ADDRESS, PROT_READ);
    } while (status == ERR_WOULD_BLOCK);
    if (status != STATUS_OK) {
        panic("accepting the page: error %u\n", status);
    }
    expect("offering the page back", sys_share_offer(share, BOARD_ADDRESS), ERR_BAD_SLOT);
    expect("mapping memory over the page", sys_mem_map(BOARD_ADDRESS, 1, PROT_READ | PROT_WRITE), ERR_ALREADY_MAPPED);
    expect("accepting it once more", sys_share_accept(share, BOARD_ADDRESS + PAGE_SIZE, PROT_READ), ERR_WOULD_BLOCK);
    print("ATTACK writing to the page, reading %lu\n", board->done);
    board->value[0] = 0;
    print("BREACH the page was written\n");
    return 1;
}
