/* Shares, on a switch that is played: sources that send as much as they can, and receivers that lend their buffers again at their own
 * pace. What each source gets is counted. */
#include "../shares.h"

#include "../../../libc/tests/check.h"

#define RECEIVER 3u /* a station that sends nothing */
#define WINDOW 8u
#define AT_ONCE 16u
#define BUFFERS 128u /* of a receiver, as `ashlar/net.h` has */

static struct shares shares;
static struct work work;

static void weigh(uint32_t a, uint32_t b, uint32_t c)
{
    shares = (struct shares){.weight = {a, b, c}, .sum = a + b + c};
    work = (struct work){{0}};
}

/* In `rounds` turns, sources with endless frames of `bytes` for so many receivers each. */
static void flood(uint32_t rounds, const uint32_t *bytes, const uint32_t *receivers, uint64_t *done)
{
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t source = 0; source < 3; source++) {
            uint32_t cost = work_of(bytes[source], receivers[source]);
            work_begin(&work, &shares, source);
            while (bytes[source] != 0 && work_spend(&work, source, cost)) {
                done[source] += cost;
            }
        }
    }
}

static uint32_t is_near(uint64_t a, uint64_t b)
{
    return 100 * a <= 101 * b && 100 * b <= 101 * a;
}

/* Small frames, large ones, and ones to all take the same of the switch's time. */
static void test_work(void)
{
    static const uint32_t bytes[3] = {60, 1514, 1514}, receivers[3] = {1, 1, 8};
    uint64_t done[3] = {0};
    weigh(1, 1, 1);
    flood(1000, bytes, receivers, done);
    CHECK(is_near(done[0], done[1]) && is_near(done[1], done[2]) && is_near(done[0], 1000ul * WORK_TURN));
    uint64_t weighed[3] = {0};
    weigh(3, 1, 2);
    flood(1000, bytes, receivers, weighed);
    CHECK(is_near(weighed[0], 3 * weighed[1]) && is_near(weighed[2], 2 * weighed[1]));
}

/* The dearest frame passes in one turn, so that every source moves in every round. */
static void test_dearest(void)
{
    weigh(1, 1, 1);
    work_begin(&work, &shares, 0);
    CHECK(work_spend(&work, 0, work_of(1514, 8)) && !work_spend(&work, 0, work_of(1514, 8)));
}

/* A source that has sent nothing for long has no more than one turn. */
static void test_no_saving(void)
{
    weigh(1, 1, 1);
    for (uint32_t i = 0; i < 100; i++) {
        work_begin(&work, &shares, 0);
        work_end(&work, 0);
    }
    work_begin(&work, &shares, 0);
    uint64_t done = 0;
    while (work_spend(&work, 0, work_of(60, 1))) {
        done += work_of(60, 1);
    }
    CHECK(done <= WORK_TURN);
}

/* Source 0 sends `many` frames whenever it is asked, the others one of theirs each; the receiver has BUFFERS and lends
 * `pace` again each time. Counts what each gets. */
static void share_buffers(uint32_t many, uint32_t pace, uint32_t others, uint64_t *got)
{
    struct room room = {.free = 0};
    uint32_t lent = BUFFERS, used = 0;
    for (uint32_t step = 0; step < 10000; step++) {
        room_fill(&room, &shares, RECEIVER, lent);
        CHECK(room_sum(&room) == lent);
        for (uint32_t source = 0; source < 3; source++) {
            uint32_t wants = source == 0 ? many : others;
            for (uint32_t i = 0; i < wants && room_take(&room, source); i++) {
                got[source]++;
                CHECK(lent > 0);
                lent--;
                used++;
            }
        }
        uint32_t again = used < pace ? used : pace;
        used -= again;
        lent += again;
    }
}

/* One that floods leaves the others what they send, as long as that is no more than their share; if all want more, each has a third, or
 * what its weight says. */
static void test_buffers(void)
{
    uint64_t got[3] = {0};
    weigh(1, 1, 1);
    share_buffers(1000, 9, 2, got);
    CHECK(got[1] == 20000 && got[2] == 20000 && got[0] > 49000); /* of 90,000 */
    uint64_t all[3] = {0};
    share_buffers(1000, 9, 1000, all);
    CHECK(is_near(all[0], all[1]) && is_near(all[1], all[2]));
    uint64_t weighed[3] = {0};
    weigh(1, 3, 2);
    share_buffers(1000, 12, 1000, weighed);
    CHECK(is_near(weighed[1], 3 * weighed[0]) && is_near(weighed[2], 2 * weighed[0]));
}

/* Source 1 has a window of frames on their way and sends the next when one was read; source 0 takes whatever is left at every
 * moment. The receiver lends buffers again as `ashlar/net.h` does while frames wait, some at a time. */
static void test_window(void)
{
    struct room room = {.free = 0};
    uint8_t queue[4096];
    uint32_t first = 0, num = 0, lent = BUFFERS, read = 0, in_flight = 0, random = 1;
    weigh(1, 1, 1);
    for (uint32_t step = 0; step < 100000; step++) {
        room_fill(&room, &shares, RECEIVER, lent);
        CHECK(room_sum(&room) == lent);
        for (; in_flight < WINDOW; in_flight++) {
            CHECK(room_take(&room, 1));
            queue[(first + num++) % sizeof queue] = 1;
            lent--;
        }
        random = random * 1664525u + 1013904223u;
        while ((random >> 16 & 31) == 0 && room_take(&room, 0)) { /* bursts, which find the receiver idle */
            queue[(first + num++) % sizeof queue] = 0;
            lent--;
        }
        for (uint32_t i = 0; i <= (random >> 24) % 20 && num != 0; i++) {
            in_flight -= queue[first++ % sizeof queue];
            num--;
            read++;
        }
        lent += read - read % AT_ONCE;
        read %= AT_ONCE;
    }
}

/* A source of little weight sends alone, to a receiver of which all but a few buffers are set aside for others. It goes on: what was
 * read is lent when nothing waits, not only with many others. */
static void test_little(void)
{
    struct room room = {.free = 0};
    uint32_t lent = BUFFERS / 2, sent = 0, read = 0;
    weigh(16, 1, 1);
    for (uint32_t step = 0; step < 1000; step++) {
        room_fill(&room, &shares, RECEIVER, lent);
        for (uint32_t i = 0; i < WINDOW && room_take(&room, 1); i++) {
            sent++;
            read++;
            lent--;
        }
        lent += read; /* nothing waits */
        read = 0;
    }
    CHECK(sent >= 1000 * room_limit(&shares, 1));
}

/* Alone, a source has all buffers but those that are set aside for others, and all that come again. */
static void test_alone(void)
{
    uint64_t got[3] = {0};
    struct room room = {.free = 0};
    weigh(1, 1, 1);
    room_fill(&room, &shares, RECEIVER, BUFFERS);
    while (room_take(&room, 0)) {
        got[0]++;
    }
    CHECK(got[0] == BUFFERS - 2 * (SHARE_RESERVED / 3));
    got[0] = 0;
    share_buffers(1000, 9, 0, got);
    CHECK(got[0] > 89000);
}

/* A receiver that begins anew, with few buffers: nothing is counted twice, and a source of little weight gets one too. */
static void test_anew(void)
{
    struct room room = {.free = 0};
    weigh(16, 16, 1);
    room_fill(&room, &shares, RECEIVER, 200);
    room_fill(&room, &shares, RECEIVER, 0);
    CHECK(room_sum(&room) == 0 && !room_take(&room, 0));
    room_fill(&room, &shares, RECEIVER, 33);
    CHECK(room_sum(&room) == 33 && room_take(&room, 2));
    shares.weight[2] = 0; /* no such source: nothing is set aside for it */
    room = (struct room){.free = 0};
    room_fill(&room, &shares, RECEIVER, BUFFERS);
    CHECK(room.reserved[2] == 0 && room_sum(&room) == BUFFERS);
    room = (struct room){.free = 0};
    room_fill(&room, &shares, 1, BUFFERS); /* nor for the receiver */
    CHECK(room.reserved[1] == 0 && room.reserved[0] == room_limit(&shares, 0) && room_sum(&room) == BUFFERS);
}

int main(void)
{
    test_work();
    test_dearest();
    test_no_saving();
    test_buffers();
    test_window();
    test_little();
    test_alone();
    test_anew();
    return 0;
}
