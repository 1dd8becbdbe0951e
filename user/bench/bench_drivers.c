/* Counts the instructions of messages between a client and a driver, each in a process of its own on the same processor:
 * those of both processes and of the kernel. Prints `BENCH name count` for each and `BENCH-DONE`.
 *
 *   stream_N     N requests are sent, then their N answers awaited; per message, of which there are 2 N
 *   round_trip   a request and its answer, both sides waiting for nothing else */
#include "bench_sample.h"

#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ethernet_protocol.h"

#define RING_CAPACITY 1024u
#define MOST ETHERNET_MAX_TRANSMIT_SLOT

/* Sends `count` requests and awaits their answers, which must come once each and in order. */
static void stream(uint64_t count)
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

static void round_trip(void)
{
    EMIT(ETHERNET_GET_STATISTICS);
    AWAIT(ETHERNET_STATISTICS);
}

static void measure_stream(const char *name, uint64_t count)
{
    for (uint32_t round = 0; round < WARM_UP + ROUNDS; round++) {
        if (round == WARM_UP) {
            MARK();
        }
        uint64_t begin = timestamp();
        stream(count);
        uint64_t end = timestamp();
        if (round >= WARM_UP) {
            sample[round - WARM_UP] = (end - begin - overhead) / (2 * count);
        }
    }
    MARK();
    report(name);
}

int main(void)
{
    struct mail_set up = {{0}};

    calibrate();
    domain_start();
    domain_connect(ETHERNET_NUMBER, "server", &ethernet_protocol, RING_CAPACITY, 0);
    up.mask[ETHERNET_NUMBER] = 1ul << MAIL_LINK_UP;
    require(domain_await(&up, DEADLINE_NEVER) == AT(ETHERNET_NUMBER, MAIL_LINK_UP) ? STATUS_OK : ERR_BAD_STATE,
            "the link");
    EMIT(ETHERNET_OPEN);
    AWAIT(ETHERNET_OPEN_OK);
    measure_stream("stream_1", 1);
    measure_stream("stream_16", 16);
    measure_stream("stream_256", MOST);
    MEASURE("round_trip", round_trip());
    print("BENCH-DONE\n");
    return 0;
}
