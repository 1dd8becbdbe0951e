/* Pings a host, then sends a stream of bytes to a TCP service that sends them back, and checks every byte. A stream that
 * breaks, because the driver was ended for example, is begun again from its beginning.
 *
 * Arguments: `driver`, or `network` as the description's key of that name gives it; `address` of this host, `host` to ping and `echo` with the service, as numbers; `port` of the service
 * (default 7); `pings` (default 4); `bytes` (default 1M); `rounds`, how often the stream is sent (default 1). */
#include "tcp.h"

#include "ashlar/env.h"
#include "ashlar/net.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define PING_BYTES 64u
#define SECOND 1000000000ul

static uint64_t now(void)
{
    return sys_clock();
}

static void await_network(void)
{
    int said = 0;
    while (!net_is_up()) {
        if (net_wait(now() + 5 * SECOND) == NET_TIMEOUT && !said) {
            print("NET waits for the driver\n");
            said = 1;
        }
    }
}

static void print_hardware(void)
{
    const uint8_t *a = net_hardware_address;
    print("NET up, %02x:%02x:%02x:%02x:%02x:%02x\n", a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- ping ---- */

static void send_ping(uint32_t host, uint32_t sequence)
{
    uint8_t *icmp = net_buffer();

    if (icmp == 0) {
        return;
    }
    icmp[0] = 8;
    icmp[1] = 0;
    net_put16(icmp + 2, 0);
    net_put16(icmp + 4, 0x4153);
    net_put16(icmp + 6, sequence);
    for (uint32_t i = 8; i < PING_BYTES; i++) {
        icmp[i] = (uint8_t)(i + sequence);
    }
    net_put16(icmp + 2, net_fold(net_sum(icmp, PING_BYTES, 0)));
    net_send(host, NET_ICMP, PING_BYTES, 0);
}

static int is_answer(uint32_t host, uint32_t sequence)
{
    const uint8_t *icmp = net_packet.payload;

    if (net_packet.from != host || net_packet.protocol != NET_ICMP || net_packet.bytes != PING_BYTES || icmp[0] != 0 ||
        net_get16(icmp + 6) != sequence || net_fold(net_sum(icmp, PING_BYTES, 0)) != 0) {
        return 0;
    }
    for (uint32_t i = 8; i < PING_BYTES; i++) {
        if (icmp[i] != (uint8_t)(i + sequence)) {
            panic("ping %u came back changed\n", sequence);
        }
    }
    return 1;
}

/* Sends until an answer comes; the first one only asks for the host's hardware address. */
static void ping(uint32_t host, uint32_t sequence)
{
    for (;;) {
        await_network();
        send_ping(host, sequence);
        uint64_t begin = now();
        uint64_t deadline = begin + SECOND / 10;
        enum net_event event = NET_OTHER;
        while (event != NET_TIMEOUT && net_is_up()) {
            event = net_wait(deadline);
            if (event == NET_PACKET && is_answer(host, sequence)) {
                print("PING %u answered after %lu us\n", sequence, (now() - begin) / 1000);
                return;
            }
        }
    }
}

/* ---- the stream ---- */

static int stream(uint32_t host, uint16_t port, uint64_t bytes)
{
    struct tcp tcp;
    uint64_t begin = now();

    await_network();
    tcp_open(&tcp, host, port, bytes);
    while (!tcp_is_over(&tcp)) {
        tcp_work(&tcp);
    }
    if (tcp.state != TCP_DONE) {
        print("ECHO broke off after %lu bytes: %s\n", tcp.verified, tcp.failure);
        return 0;
    }
    uint64_t milliseconds = (now() - begin) / 1000000 + 1;
    print("ECHO %lu bytes came back as sent, %lu ms, %lu KiB/s, %u sent again\n", tcp.verified, milliseconds,
          tcp.verified * 1000 / 1024 / milliseconds, tcp.sent_again);
    return 1;
}

int main(void)
{
    char driver[32];
    uint32_t host = (uint32_t)env_arg_u64("host", NET_ADDRESS(10, 0, 2, 2));
    uint32_t echo = (uint32_t)env_arg_u64("echo", NET_ADDRESS(10, 0, 2, 100));
    uint64_t rounds = env_arg_u64("rounds", 1);

    if (env_arg("driver", driver, sizeof driver) < 0 && env_arg("network", driver, sizeof driver) < 0) {
        panic("arguments driver and network are missing\n");
    }
    net_start(driver, (uint32_t)env_arg_u64("address", NET_ADDRESS(10, 0, 2, 15)));
    await_network();
    print_hardware();
    for (uint32_t i = 1; i <= env_arg_u64("pings", 4); i++) {
        ping(host, i);
    }
    for (uint64_t round = 0; round < rounds;) {
        if (stream(echo, (uint16_t)env_arg_u64("port", 7), env_arg_u64("bytes", 1 << 20))) {
            round++;
        }
    }
    print("NET done, %lu frames sent, %lu received, driver lost %lu times\n", net_count.sent, net_count.received,
          net_count.lost_driver);
    for (;;) {
        net_wait(DEADLINE_NEVER);
    }
}
