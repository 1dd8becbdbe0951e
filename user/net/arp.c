/* Address resolution: which hardware address a neighbour has. */
#include "ashlar/net.h"

#include "ashlar/string.h"
#include "net_internal.h"

#define ARP_BYTES 28u
#define ARP_REQUEST 1u
#define ARP_REPLY 2u
#define NUM_NEIGHBOUR 8u

struct neighbour {
    uint32_t address; /* 0: none */
    uint8_t hardware[6];
};

static struct neighbour neighbour[NUM_NEIGHBOUR];
static uint32_t next_neighbour;

static void send_arp(uint32_t operation, const uint8_t *to, uint32_t to_address)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    uint8_t *frame = net_frame();

    if (frame == 0) {
        return;
    }
    uint8_t *arp = frame + ETHER_HEADER;
    net_put_header(frame, operation == ARP_REQUEST ? everybody : to, ETHER_ARP);
    memset(arp, 0, 60 - ETHER_HEADER);
    net_put16(arp, 1);
    net_put16(arp + 2, ETHER_IP);
    arp[4] = 6;
    arp[5] = 4;
    net_put16(arp + 6, operation);
    memcpy(arp + 8, net_hardware_address, 6);
    net_put32(arp + 14, net_own_address);
    memcpy(arp + 18, to, 6);
    net_put32(arp + 24, to_address);
    net_send_frame(ETHER_HEADER + ARP_BYTES, 0);
}

static struct neighbour *find_neighbour(uint32_t address)
{
    for (uint32_t i = 0; i < NUM_NEIGHBOUR; i++) {
        if (neighbour[i].address == address) {
            return &neighbour[i];
        }
    }
    return 0;
}

const uint8_t *net_neighbour(uint32_t address)
{
    const struct neighbour *known = find_neighbour(address);
    return known != 0 ? known->hardware : 0;
}

int net_knows(uint32_t address)
{
    return find_neighbour(address) != 0;
}

void net_ask(uint32_t address)
{
    static const uint8_t unknown[6];
    send_arp(ARP_REQUEST, unknown, address);
}

void net_received_arp(const uint8_t *arp, uint32_t bytes)
{
    if (bytes < ARP_BYTES || net_get16(arp) != 1 || net_get16(arp + 2) != ETHER_IP || arp[4] != 6 || arp[5] != 4 ||
        net_get32(arp + 24) != net_own_address) {
        return;
    }
    uint32_t address = net_get32(arp + 14);
    struct neighbour *known = find_neighbour(address);
    if (known == 0) {
        known = &neighbour[next_neighbour];
        next_neighbour = (next_neighbour + 1) % NUM_NEIGHBOUR;
        known->address = address;
    }
    memcpy(known->hardware, arp + 8, 6);
    if (net_get16(arp + 6) == ARP_REQUEST) {
        send_arp(ARP_REPLY, arp + 8, address);
    }
}
