/* Maps pages until its quota is used up, checks that the refusal is ERR_QUOTA and that nothing changed by it, gives
 * everything back, and does so again: each round must get exactly as many pages as the first.
 * Argument `rounds` (default 3). */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define HEAP_ADDRESS 0x40000000ul

/* Returns how many pages it got. */
static uint64_t eat(void)
{
    uint64_t pages = 0;
    uint32_t status = STATUS_OK;

    while (status == STATUS_OK) {
        uint64_t address = HEAP_ADDRESS + pages * PAGE_SIZE;
        status = sys_mem_map(address, 1, PROT_READ | PROT_WRITE);
        if (status == STATUS_OK) {
            *(volatile uint64_t *)address = address;
            pages++;
        }
    }
    if (status != ERR_QUOTA) {
        panic("after %lu pages: error %u instead of ERR_QUOTA\n", pages, status);
    }
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t address = HEAP_ADDRESS + i * PAGE_SIZE;
        if (*(volatile uint64_t *)address != address) {
            panic("page %lu lost its contents\n", i);
        }
    }
    return pages;
}

int main(void)
{
    uint64_t rounds = env_arg_u64("rounds", 3);
    uint64_t first = 0;

    for (uint64_t round = 1; round <= rounds; round++) {
        uint64_t pages = eat();
        uint64_t used = 0;
        uint64_t quota = 0;

        sys_quota(&used, &quota);
        if (used > quota) {
            panic("%lu frames in use with a quota of %lu\n", used, quota);
        }
        uint32_t status = sys_mem_unmap(HEAP_ADDRESS, pages);
        if (status != STATUS_OK) {
            panic("giving %lu pages back: error %u\n", pages, status);
        }
        print("QUOTA round %lu: %lu pages, then ERR_QUOTA; quota %lu frames\n", round, pages, quota);
        if (round == 1) {
            first = pages;
        }
        if (pages != first) {
            panic("round %lu got %lu pages, the first %lu\n", round, pages, first);
        }
    }
    print("QUOTA done\n");
    return 0;
}
