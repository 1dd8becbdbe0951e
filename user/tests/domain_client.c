/* The client's side of a test of domains: messages of one mailbox come in order, those not awaited are kept, a thread of the
 * driver serves while another waits, timers fire when they should and not when they are cancelled. Arguments `rounds`
 * (default 200) and `server` (default "server"). */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "ethernet_protocol.h"

#define RING_CAPACITY 1024u
#define MOST ETHERNET_MAX_TRANSMIT_SLOT
#define PAUSE_NS 20000000ul

static void transmit(uint64_t cookie)
{
    struct ethernet_transmit body = {0, 64, 0};
    EMIT(ETHERNET_TRANSMIT, cookie, &body);
}

static void expect(uint64_t cookie)
{
    AWAIT(ETHERNET_TRANSMIT_DONE);
    if (COOKIE() != cookie) {
        panic("answer %lu came in the place of %lu\n", COOKIE(), cookie);
    }
}

/* Requests for both threads, mixed; the answers of the second are left alone until the first has answered. */
static void mixed(void)
{
    for (uint64_t i = 0; i < MOST; i++) {
        transmit(i);
        if (i % 16 == 0) {
            EMIT(ETHERNET_GET_STATISTICS);
            AWAIT(ETHERNET_STATISTICS);
        }
    }
    for (uint64_t i = 0; i < MOST; i++) {
        expect(i);
    }
}

/* While the first thread waits for the timer the second serves. */
static void while_the_timer_runs(void)
{
    struct ethernet_set_filter filter = {0, 0};
    uint64_t begin = sys_clock();

    EMIT(ETHERNET_SET_FILTER, 0, &filter);
    for (uint64_t i = 0; i < 100; i++) {
        transmit(i);
        expect(i);
    }
    uint64_t served = sys_clock() - begin;
    AWAIT(ETHERNET_FILTER_SET);
    uint64_t fired = sys_clock() - begin;
    if (fired < PAUSE_NS) {
        panic("the timer fired after %lu ns instead of %lu\n", fired, PAUSE_NS);
    }
    print("DOMAIN served 100 requests in %lu us, the timer fired after %lu us\n", served / 1000, fired / 1000);
}

static void cancelled(void)
{
    struct ethernet_set_address address = {{0}};

    EMIT(ETHERNET_SET_ADDRESS, 0, &address);
    AWAIT(ETHERNET_ADDRESS_SET);
    if (MAIL(ethernet_address_set)->status != 0) {
        panic("a timer that was cancelled at once has fired\n");
    }
}

int main(void)
{
    struct mail_set set = {{0}};
    struct ethernet_statistics statistics;
    char server[32];
    uint64_t rounds = env_arg_u64("rounds", 200);

    domain_start();
    if (env_arg("server", server, sizeof server) < 0) {
        memcpy(server, "server", sizeof "server");
    }
    domain_connect(ETHERNET_NUMBER, server, &ethernet_protocol, RING_CAPACITY, 0);
    set.mask[ETHERNET_NUMBER] = 1ul << MAIL_LINK_UP;
    if (domain_await(&set, DEADLINE_NEVER) != AT(ETHERNET_NUMBER, MAIL_LINK_UP)) {
        panic("the link did not come up\n");
    }
    EMIT(ETHERNET_OPEN);
    AWAIT(ETHERNET_OPEN_OK);
    for (uint64_t round = 0; round < rounds; round++) {
        mixed();
        cancelled();
    }
    while_the_timer_runs();
    EMIT(ETHERNET_GET_STATISTICS);
    AWAIT(ETHERNET_STATISTICS);
    statistics = *MAIL(ethernet_statistics);
    if (statistics.sent != rounds * MOST + 100) {
        panic("%lu requests were served\n", statistics.sent);
    }
    /* Nothing is there to be awaited: the deadline ends the wait. */
    set.mask[ETHERNET_NUMBER] = ~0ul;
    if (domain_await(&set, sys_clock() + PAUSE_NS) != DOMAIN_TIMEOUT) {
        panic("there is a message more\n");
    }
    print("DOMAIN done, %lu requests\n", statistics.sent);
    return 0;
}
