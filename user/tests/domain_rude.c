/* A client that breaks its protocol and so is cut off, as it should be: argument `hasty` sets a filter again before it is told
 * that one is set; without it, more buffers are lent than the protocol allows. */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "ethernet_protocol.h"

#define RING_CAPACITY 1024u
#define MANY 4000u
#define PATIENCE 30000000000ul

static void send(uint32_t i)
{
    static const struct ethernet_receive_buffer body = {0, 1522};
    static const struct ethernet_set_filter filter;

    if (env_arg_u64("hasty", 0) != 0) {
        EMIT(ETHERNET_SET_FILTER, 0, &filter);
    } else {
        EMIT(ETHERNET_RECEIVE_BUFFER, i % ETHERNET_MAX_RECEIVE_SLOT, &body);
    }
}

int main(void)
{
    struct mail_set set = {{0}};

    domain_start();
    domain_connect(ETHERNET_NUMBER, "crowd", &ethernet_protocol, RING_CAPACITY, 1);
    set.mask[ETHERNET_NUMBER] = 1ul << MAIL_LINK_UP;
    domain_await(&set, DEADLINE_NEVER);
    EMIT(ETHERNET_OPEN);
    AWAIT(ETHERNET_OPEN_OK);
    set.mask[ETHERNET_NUMBER] = 1ul << MAIL_LINK_LOST;
    uint64_t end = sys_clock() + PATIENCE;
    for (uint32_t i = 0; sys_clock() < end; i++) {
        if (i < MANY) {
            send(i);
        }
        /* What is sent is seen before more is: a full ring would be this side's fault, found on this side. */
        if (i % 64 == 63 && domain_await(&set, sys_clock() + 1000000ul) != DOMAIN_TIMEOUT) {
            print("RUDE cut off\n");
            return 0;
        }
    }
    panic("RUDE is served as ever\n");
}
