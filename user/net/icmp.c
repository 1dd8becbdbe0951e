/* Answers to pings, so that a neighbour can see that this process is there. */
#include "ashlar/net.h"

#include "ashlar/string.h"
#include "net_internal.h"

#define ICMP_LEAST 8u
#define ECHO_REQUEST 8u

int net_answer_ping(void)
{
    const uint8_t *asked = net_packet.payload;
    uint32_t bytes = net_packet.bytes;

    if (net_packet.protocol != NET_ICMP || bytes < ICMP_LEAST || asked[0] != ECHO_REQUEST ||
        net_fold(net_sum(asked, bytes, 0)) != 0) {
        return 0;
    }
    uint8_t *answer = net_buffer();
    if (answer != 0 && bytes <= NET_MTU - NET_IP_HEADER) {
        memcpy(answer, asked, bytes);
        answer[0] = 0;
        net_put16(answer + 2, 0);
        net_put16(answer + 2, net_fold(net_sum(answer, bytes, 0)));
        net_send(net_packet.from, NET_ICMP, bytes, 0); /* who has not asked for our address may be asked for theirs */
    }
    return 1;
}
