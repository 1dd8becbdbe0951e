/* Counts the messages of several clients at once, each with a driver process of its own (bench_drivers_server). All programs
 * of the system keep the same timetable: in its n-th window clients 0 to n work, the others sleep. First come windows in
 * which each client sends BATCH requests before it awaits their answers, then windows with one request at a time.
 *
 * Arguments: `driver`; `index` of this client; `clients` in all; `window_us`; `begin_us` after boot, when all must be up.
 * Prints `CLIENTS stream|ping_pong N messages M` for each window that it worked in, and `BENCH-DONE`. */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "ethernet_protocol.h"

#define RING_CAPACITY 1024u
#define BATCH 64u
#define MOST_CLIENTS 8u
#define NUM_KIND 2u

static uint64_t messages[NUM_KIND][MOST_CLIENTS];

/* Sends `count` requests and awaits their answers: that many messages each way. */
static void exchange(uint64_t count)
{
    struct ethernet_transmit body = {0, 64, 0};

    for (uint64_t i = 0; i < count; i++) {
        EMIT(ETHERNET_TRANSMIT, i, &body);
    }
    for (uint64_t i = 0; i < count; i++) {
        AWAIT(ETHERNET_TRANSMIT_DONE);
        if (COOKIE() != i) {
            panic("answer %lu came in the place of %lu\n", COOKIE(), i);
        }
    }
}

/* What is not answered before the end of the window does not count. */
static uint64_t work(uint64_t begin, uint64_t end, uint64_t batch)
{
    uint64_t count = 0;
    uint64_t between = BATCH / batch;

    sys_sleep(begin);
    for (;;) {
        for (uint64_t i = 0; i < between; i++) {
            exchange(batch);
        }
        if (sys_clock() >= end) {
            return count;
        }
        count += 2 * BATCH;
    }
}

int main(void)
{
    static const char *const name[NUM_KIND] = {"stream", "ping_pong"};
    static const uint64_t batch[NUM_KIND] = {BATCH, 1};
    char driver[32];
    struct mail_set up = {{0}};
    uint64_t index = env_arg_u64("index", 0);
    uint64_t clients = env_arg_u64("clients", 1);
    uint64_t window = 1000 * env_arg_u64("window_us", 10000);
    uint64_t begin = 1000 * env_arg_u64("begin_us", 500000);

    if (env_arg("driver", driver, sizeof driver) < 0 || clients > MOST_CLIENTS) {
        panic("argument driver is missing, or there are more than %u clients\n", MOST_CLIENTS);
    }
    domain_start();
    domain_connect(ETHERNET_NUMBER, driver, &ethernet_protocol, RING_CAPACITY, 0);
    up.mask[ETHERNET_NUMBER] = 1ul << MAIL_LINK_UP;
    if (domain_await(&up, begin) != AT(ETHERNET_NUMBER, MAIL_LINK_UP)) {
        panic("the link was not up in time: error %u\n", ERR_BAD_STATE);
    }
    EMIT(ETHERNET_OPEN);
    AWAIT(ETHERNET_OPEN_OK);
    for (uint32_t kind = 0; kind < NUM_KIND; kind++) {
        for (uint64_t n = 0; n < clients; n++) {
            if (index <= n) {
                messages[kind][n] = work(begin, begin + window, batch[kind]);
            }
            begin += window + window / 4; /* a client that is late in a window is done before the next */
        }
    }
    sys_sleep(begin);
    for (uint32_t kind = 0; kind < NUM_KIND; kind++) {
        for (uint64_t n = index; n < clients; n++) {
            print("CLIENTS %s %lu messages %lu\n", name[kind], n + 1, messages[kind][n]);
        }
    }
    print("BENCH-DONE\n");
    return 0;
}
