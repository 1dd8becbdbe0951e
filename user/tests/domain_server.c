/* The driver's side of a test of domains: two threads, a timer. The first thread serves all requests but transmissions, which
 * the second serves even while the first waits for its timer. */
#include "ashlar/driver.h"
#include "ethernet_protocol.h"
#include "timer_protocol.h"

#define PAUSE_NS 20000000ul

static struct ethernet_statistics statistics;

static void transmitter(void)
{
    struct ethernet_transmit_done done = {0};

    for (;;) {
        AWAIT(ETHERNET_TRANSMIT);
        statistics.sent++;
        EMIT(ETHERNET_TRANSMIT_DONE, COOKIE(), &done);
    }
}

/* Answers when the timer has fired. */
static void set_filter(void)
{
    struct timer_arm arm = {PAUSE_NS};
    struct ethernet_filter_set body = {0};

    EMIT(TIMER_ARM, 0, &arm);
    AWAIT(TIMER_FIRED);
    EMIT(ETHERNET_FILTER_SET, 0, &body);
}

/* Arms the timer, thinks better of it, and answers with status 1 if it fired all the same. */
static void set_address(void)
{
    struct timer_arm arm = {PAUSE_NS};
    struct ethernet_address_set body = {0};

    EMIT(TIMER_ARM, 0, &arm);
    EMIT(TIMER_CANCEL);
    while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) == TIMER_FIRED) {
        body.status = 1;
    }
    EMIT(ETHERNET_ADDRESS_SET, 0, &body);
}

void driver(void)
{
    struct ethernet_open_ok open_ok = {{0}, 0};

    domain_thread(transmitter);
    for (;;) {
        switch (AWAIT(ETHERNET_OPEN, ETHERNET_CLOSE, ETHERNET_SET_FILTER, ETHERNET_SET_ADDRESS, ETHERNET_GET_STATISTICS,
                      ETHERNET_RECEIVE_BUFFER)) {
        case ETHERNET_OPEN:
            EMIT(ETHERNET_OPEN_OK, 0, &open_ok);
            break;
        case ETHERNET_CLOSE:
            EMIT(ETHERNET_CLOSE_OK);
            break;
        case ETHERNET_SET_FILTER:
            set_filter();
            break;
        case ETHERNET_SET_ADDRESS:
            set_address();
            break;
        case ETHERNET_GET_STATISTICS:
            EMIT(ETHERNET_STATISTICS, 0, &statistics);
            break;
        default:
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&ethernet_protocol, &timer_protocol, 0};
