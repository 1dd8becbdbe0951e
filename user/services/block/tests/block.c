/* The block service between a driver and clients that this test plays, over many random runs: commands in any order, errors, flushes,
 * aborts, a driver, clients and a disk that go and come back. Every message is followed by the run-time monitor, each protocol
 * where its driver is; and a model of the disk, with a write cache, says what must be true:
 *   - a client reads what it has written, and never writes or sees a sector of another one;
 *   - when a flush is answered, all that its client had been told is done is on the medium, and a forced write when it is done;
 *   - a bad sector fails the command of the client that asks for it, and no other;
 *   - of the driver's queue no client has more than its share, in places and in work;
 *   - a flush that waits for what its client owes to others comes;
 *   - what a client is owed it gets in time, though the driver may be slow;
 *   - at the end every command was answered. */
#include <stdint.h>
#include <string.h>

#include "../block.c"

static uint64_t now = 1;

#include "../../../libc/tests/check.h"
#include "ashlar/random.h"
#include "../../../runtime/monitor.c"
#include "played_clients.h"

#define RUNS 300u
#define STEPS 3000u

static void begin_run(uint32_t seed)
{
    chance.state = seed * 0x9e3779b97f4a7c15ul + 1;
    memset(client, 0, sizeof client);
    memset(slot, 0, sizeof slot);
    memset(&disk, 0, sizeof disk);
    memset(player, 0, sizeof player);
    memset(cache, 0, sizeof cache);
    memset(medium, 0, sizeof medium);
    post_empty(&to_driver);
    post_empty(&from_driver);
    memset(is_issued, 0, sizeof is_issued);
    is_open = is_aborting = is_flushing = is_stopped = was_alone = is_ticking = 0;
    slots_of_disk = slots_used = slots_sent = slots_suspect = 0;
    flush_round = 0;
    retry = NOTHING;
    look_at = retry_at = flush_at = NEVER;
    timer_is_armed = 0;
    turn = 0;
    next_version = 0;
    driver_is_up = driver_state_frozen = driver_is_aborting = 0;
    has_disk = 1;
    bad_sector = below(3) == 0 ? FIRST + below(PLAYERS) * STEP + below(PART / 4) : 0;
    weights = 0;
    for (uint32_t n = 0; n < PLAYERS; n++) {
        client[n].at = (FIRST + n * STEP) * SECTOR_BYTES;
        client[n].size = PART * SECTOR_BYTES;
        client[n].weight = 1 + below(3);
        weights += client[n].weight;
        monitor_start(&player[n].monitor, &sata_protocol, player[n].open);
        player[n].monitor.first = AT(FIRST_PORT + n, 0);
    }
}

static void expire(void)
{
    uint64_t at = disk_deadline();
    now = at != NEVER && at > now ? at : now;
    if (disk_deadline() <= now) {
        give(0);
    }
}

static void complete_one(void)
{
    uint32_t from = below(SLOTS);
    for (uint32_t i = 0; i < SLOTS && !driver_state_frozen && driver_is_up; i++) {
        uint32_t index = (from + i) % SLOTS;
        if (is_issued[index]) {
            driver_complete(index);
            return;
        }
    }
}

static uint32_t num_in_debt; /* flushes that were seen to wait for what others are to have */

static void one_step(uint32_t is_calm)
{
    uint32_t n = below(PLAYERS);
    now += below(1000);
    num_in_debt += waits_for_flush(n) && !is_flushing && is_in_debt(n);
    if (timer_is_armed && (now >= timer_at || (!is_calm && below(2000) == 0))) {
        timer_fire();
    }
    switch (below(is_calm ? 12 : 16)) {
    case 0:
    case 1:
        driver_hear();
        if (driver_is_slow) {
            now += TIMEOUT;
            expire();
        }
        break;
    case 2:
    case 3:
        if (!driver_is_slow) {
            complete_one();
        }
        break;
    case 4:
    case 5:
        if (post_take(&from_driver, &current_letter)) {
            give(current_letter.mailbox);
        }
        break;
    case 6:
    case 7:
        service_hear(n);
        break;
    case 8:
    case 9:
        client_hear(n);
        break;
    case 10:
        if (!driver_is_up) {
            driver_be_born();
        }
        break;
    case 11:
        if (retry_at != NEVER || (queue_is_free() && !is_flushing && flush_at != NEVER) ||
            (is_calm == 0 && below(50) == 0)) {
            expire();
        }
        break;
    case 12:
    case 13:
    case 14:
        client_act(n);
        break;
    default:
        switch (below(120)) {
        case 0:
            if (driver_is_up) {
                driver_die();
            }
            break;
        case 1:
        case 2:
            client_die(n);
            break;
        case 3:
            driver_unplug();
            break;
        default:
            break;
        }
    }
}

static uint32_t num_open(void)
{
    uint32_t num = to_driver.num + from_driver.num;
    for (uint32_t n = 0; n < PLAYERS; n++) {
        num += player[n].in.num + player[n].out.num + player[n].is_flushing + player[n].is_gone;
        for (uint32_t i = 0; i < COMMANDS; i++) {
            num += player[n].is_open[i] != 0;
        }
    }
    return num;
}

int main(void)
{
    for (uint32_t run = 1; run <= RUNS; run++) {
        begin_run(run);
        for (uint32_t i = 0; i < STEPS; i++) {
            driver_is_slow = run % 4 == 0 && i / 200 % 2 != 0;
            one_step(0);
        }
        driver_is_slow = 0;
        for (uint32_t i = 0; i < 100000 && num_open() != 0; i++) {
            one_step(1);
        }
        CHECK(num_open() == 0 && num_issued() == 0);
        for (uint32_t i = 0; i < SECTORS; i++) { /* sectors of no client were not touched */
            CHECK((i >= FIRST && (i - FIRST) % STEP < PART) || cache[i] == 0);
        }
    }
    CHECK(num_answered > 10000 && num_flushed > 1000 && num_bad_seen > 20 && num_in_debt > 1000);
    CHECK(num_ticks > 100 && num_wrecked > 10);
    CHECK(num_stops < 8 * num_bad_seen); /* commands that were only near it are found out one by one */
    return 0;
}
