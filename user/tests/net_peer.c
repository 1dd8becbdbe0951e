/* A neighbour on a network, in one of three roles:
 *
 *   mirror   sends back every frame of a stream to whom it came from, and counts the frames of a flood
 *   stream   sends a stream of frames to `peer`, a mirror, eight at a time, checks each byte that comes back, and counts what is lost
 *   flood    sends to each of `peer` and `other` as much as it can, for ever; every 64th frame with another's hardware address
 *
 * Arguments: `network`; `role`; `address`, its own; `peer`, `other`; `frames` of the stream (default 10000). */
#include "ashlar/env.h"
#include "ashlar/net.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define STREAM 253u /* protocols that are free for experiments */
#define FLOOD 254u
#define WINDOW 8u /* frames of the stream on their way */
#define BYTES 1400u
#define SECOND 1000000000ul

static void fill(uint8_t *bytes, uint32_t number)
{
    net_put32(bytes, number);
    for (uint32_t i = 4; i < BYTES; i++) {
        bytes[i] = (uint8_t)(number * 7 + i * 13 + (i >> 8));
    }
}

static int is_right(const uint8_t *bytes, uint32_t number)
{
    for (uint32_t i = 4; i < BYTES; i++) {
        if (bytes[i] != (uint8_t)(number * 7 + i * 13 + (i >> 8))) {
            return 0;
        }
    }
    return 1;
}

static void await_neighbour(uint32_t address)
{
    while (!net_is_up() || !net_knows(address)) {
        if (net_wait(sys_clock() + SECOND / 20) == NET_TIMEOUT && net_is_up() && net_buffer() != 0) {
            net_send(address, STREAM, 0, 0); /* only asks for the hardware address */
        }
    }
}

static _Noreturn void mirror(void)
{
    uint64_t flooded = 0;

    for (;;) {
        if (net_wait(DEADLINE_NEVER) != NET_PACKET) {
            continue;
        }
        if (net_packet.protocol == FLOOD) {
            flooded++;
            if ((flooded & (flooded - 1)) == 0) {
                print("PEER %lu frames of a flood\n", flooded);
            }
        } else if (net_packet.protocol == STREAM && net_packet.bytes == BYTES) {
            uint8_t *answer = net_buffer();
            if (answer != 0) {
                memcpy(answer, net_packet.payload, BYTES);
                net_send(net_packet.from, STREAM, BYTES, 0);
            }
        }
    }
}

/* Frames overtake none, so one that comes back later than its successor is lost. Returns those that are lost for it to come. */
static uint32_t take(uint32_t awaited)
{
    uint32_t number = net_get32(net_packet.payload);

    if (!is_right(net_packet.payload, number) || number - awaited >= WINDOW) {
        panic("PEER frame %u came back changed, or not in its order: %u was awaited\n", number, awaited);
    }
    return number - awaited;
}

static void stream(uint32_t peer, uint32_t frames)
{
    uint32_t sent = 0, awaited = 0, lost = 0;

    await_neighbour(peer);
    while (awaited < frames) {
        uint8_t *frame = net_buffer();
        if (sent < frames && sent - awaited < WINDOW && frame != 0) {
            fill(frame, sent);
            sent += (uint32_t)net_send(peer, STREAM, BYTES, 0);
            continue;
        }
        enum net_event event = net_wait(sys_clock() + 10 * SECOND);
        if (event == NET_PACKET && net_packet.protocol == STREAM && net_packet.bytes == BYTES) {
            uint32_t missing = take(awaited);
            lost += missing;
            awaited += missing + 1;
        } else if (event == NET_TIMEOUT) {
            lost += sent - awaited;
            awaited = sent;
        }
    }
    print("PEER %u frames came back as sent, %u lost\n", frames - lost, lost);
}

static void flood_one(uint32_t to)
{
    static uint32_t number;
    uint8_t *frame = net_buffer();

    if (frame == 0) {
        net_wait(DEADLINE_NEVER); /* all are on their way */
        return;
    }
    memset(frame, 0, 64);
    number++;
    net_hardware_address[5] ^= number % 64 == 0 ? 0xf0 : 0;
    net_send(to, FLOOD, 64, 0);
    net_hardware_address[5] ^= number % 64 == 0 ? 0xf0 : 0;
}

int main(void)
{
    char network[32], role[16];
    uint32_t peer = (uint32_t)env_arg_u64("peer", 0), other = (uint32_t)env_arg_u64("other", 0);

    if (env_arg("network", network, sizeof network) < 0 || env_arg("role", role, sizeof role) < 0) {
        panic("arguments network and role are missing\n");
    }
    net_start(network, (uint32_t)env_arg_u64("address", 0));
    if (strcmp(role, "mirror") == 0) {
        mirror();
    } else if (strcmp(role, "stream") == 0) {
        stream(peer, (uint32_t)env_arg_u64("frames", 10000));
    } else {
        await_neighbour(peer);
        await_neighbour(other);
        print("PEER floods\n");
        for (;;) {
            flood_one(peer);
            flood_one(other);
        }
    }
    for (;;) {
        net_wait(DEADLINE_NEVER);
    }
}
