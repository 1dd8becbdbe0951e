/* Shares of the disk's queue, of work and of the time of flushes. */
#include "../shares.h"

#include "../../../libc/tests/check.h"

#define DEPTH 32u
#define LARGE 65536u
#define USUAL 4096u

/* How many commands of `bytes` a client gets under way. */
static uint32_t commands(uint32_t bytes, uint32_t weight, uint32_t sum)
{
    uint32_t under_way = 0, num = 0;
    while (num < share_places(DEPTH, weight, sum) &&
           share_admits(share_work(DEPTH, weight, sum), under_way, work_of(bytes))) {
        under_way += work_of(bytes);
        num++;
    }
    return num;
}

/* With commands of 4 KiB a client has all its places; with larger ones as much work, not as many places; with smaller ones no more. */
static void test_commands(void)
{
    CHECK(commands(USUAL, 1, 3) == 10 && commands(512, 1, 3) == 10);
    CHECK(commands(LARGE, 1, 3) == 2 && commands(LARGE, 1, 1) == 6);
    CHECK(commands(USUAL, 2, 4) == 16 && commands(LARGE, 2, 4) == 3);
    CHECK(2 * work_of(LARGE) <= 10 * work_of(USUAL));
}

/* One command may always be under way, however small the share; and for one that is in debt, one. */
static void test_least(void)
{
    CHECK(share_places(DEPTH, 1, 113) == 1 && commands(LARGE, 1, 113) == 1);
    CHECK(share_admits(0, 0, work_of(LARGE)) && !share_admits(0, work_of(512), work_of(512)));
}

/* All shares together are no more than the queue, as long as each has a place. */
static void test_sum(void)
{
    for (uint32_t a = 1; a <= 16; a++) {
        for (uint32_t b = 1; b <= 16; b++) {
            uint32_t sum = a + b + 1;
            CHECK(share_places(DEPTH, a, sum) + share_places(DEPTH, b, sum) + share_places(DEPTH, 1, sum) <= DEPTH);
        }
    }
}

/* Who has flushed for a while leaves others their part of the time: with a third of the weights twice as long. Alone it does not wait,
 * and never longer than FLUSH_WAIT_MOST, whatever the disk takes. */
static void test_flushes(void)
{
    CHECK(share_flush_wait(1000, 1, 3) == 2000 && share_flush_wait(1000, 2, 3) == 500);
    CHECK(share_flush_wait(1000, 1, 1) == 0);
    CHECK(share_flush_wait(FLUSH_WAIT_MOST / 2, 1, 8) == FLUSH_WAIT_MOST);
    CHECK(share_flush_wait(~0ul, 1, 8) == FLUSH_WAIT_MOST);
}

int main(void)
{
    test_commands();
    test_least();
    test_sum();
    test_flushes();
    return 0;
}
