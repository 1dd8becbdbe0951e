/* Packets of IPv4. */
#include "ashlar/net.h"

#include "ashlar/string.h"
#include "net_internal.h"

struct net_packet net_packet;

uint32_t net_sum(const uint8_t *bytes, uint32_t count, uint32_t sum)
{
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        sum += net_get16(bytes + i);
    }
    return count % 2 != 0 ? sum + ((uint32_t)bytes[count - 1] << 8) : sum;
}

int net_received_ip(const uint8_t *ip, uint32_t bytes, uint16_t checked)
{
    if (bytes < NET_IP_HEADER || ip[0] != 0x45 || net_get32(ip + 16) != net_own_address) {
        return 0;
    }
    uint32_t length = net_get16(ip + 2);
    if (length < NET_IP_HEADER || length > bytes || (net_get16(ip + 6) & 0x3fff) != 0) {
        return 0; /* cut off, or a fragment */
    }
    if ((checked & 1) == 0 && net_fold(net_sum(ip, NET_IP_HEADER, 0)) != 0) {
        return 0;
    }
    net_packet.from = net_get32(ip + 12);
    net_packet.protocol = ip[9];
    net_packet.is_checked = (checked & 6) != 0;
    net_packet.bytes = length - NET_IP_HEADER;
    net_packet.payload = ip + NET_IP_HEADER;
    return 1;
}

/* The checksum of TCP or UDP, where the interface does not insert it. */
static void put_checksum(const uint8_t *ip, uint8_t *payload, uint32_t bytes)
{
    uint32_t protocol = ip[9];
    uint8_t *place = payload + (protocol == NET_TCP ? 16 : 6);
    uint32_t addresses = net_sum(ip + 12, 8, protocol + bytes);

    net_put16(place, 0);
    net_put16(place, net_fold(net_sum(payload, bytes, addresses)));
}

uint8_t *net_buffer(void)
{
    uint8_t *frame = net_frame();
    return frame == 0 ? 0 : frame + ETHER_HEADER + NET_IP_HEADER;
}

int net_send(uint32_t to, uint8_t protocol, uint32_t bytes, uint16_t offload)
{
    static uint16_t identification;
    const uint8_t *hardware = net_neighbour(to);
    uint8_t *frame = net_frame();

    if (frame == 0 || bytes > NET_MTU - NET_IP_HEADER) {
        return 0;
    }
    if (hardware == 0) {
        net_ask(to);
        return 0;
    }
    uint8_t *ip = frame + ETHER_HEADER;
    net_put_header(frame, hardware, ETHER_IP);
    memset(ip, 0, NET_IP_HEADER);
    ip[0] = 0x45;
    net_put16(ip + 2, NET_IP_HEADER + bytes);
    identification++;
    net_put16(ip + 4, identification);
    ip[8] = 64;
    ip[9] = protocol;
    net_put32(ip + 12, net_own_address);
    net_put32(ip + 16, to);
    net_put16(ip + 10, net_fold(net_sum(ip, NET_IP_HEADER, 0)));
    if ((offload & ~net_inserts) != 0) {
        put_checksum(ip, ip + NET_IP_HEADER, bytes);
        offload = 0;
    }
    net_send_frame(ETHER_HEADER + NET_IP_HEADER + bytes, offload);
    return 1;
}
