/* One notification for all: whose a message is, its port says. */
#include "virtio/links.h"

#include "ashlar/domain.h"
#include "ethernet_protocol.h"
#include "pci/passed.h"
#include "pci_protocol.h"
#include "sata_protocol.h"
#include "virtio/disk.h"
#include "virtio/network.h"

static uint32_t are_connected, have_disk, have_network;

void links_connect(const char *disk, uint64_t disk_limit, const char *network)
{
    have_disk = disk[0] != 0;
    have_network = network[0] != 0;
    are_connected = 1;
    domain_start();
    if (have_disk) {
        disk_connect(disk, disk_limit);
    }
    if (have_network) {
        network_connect(network);
    }
}

uint32_t links_exist(void)
{
    return are_connected;
}

uint32_t links_have_disk(void)
{
    return have_disk;
}

uint32_t links_have_network(void)
{
    return have_network;
}

void links_flush(void)
{
    if (are_connected) {
        domain_flush();
    }
}

void links_receive(uint64_t bits)
{
    struct mail_set set = {{0}};
    uint32_t mailbox;
    if (are_connected == 0) {
        return;
    }
    set.mask[SATA_NUMBER] = ~0ul;
    set.mask[ETHERNET_NUMBER] = ~0ul;
    set.mask[PCI_NUMBER] = ~0ul;
    mailbox = domain_poll(&set, bits);
    while (mailbox != DOMAIN_TIMEOUT) {
        switch (mailbox >> 8) {
        case SATA_NUMBER:
            disk_receive(mailbox);
            break;
        case ETHERNET_NUMBER:
            network_receive(mailbox);
            break;
        default:
            passed_receive(mailbox);
            break;
        }
        mailbox = domain_poll(&set, 0);
    }
    disk_go_on();
    domain_flush();
}

uint64_t links_deadline(void)
{
    uint64_t next = are_connected ? domain_poll_at() : LINKS_NEVER;
    next = disk_deadline() < next ? disk_deadline() : next;
    return network_deadline() < next ? network_deadline() : next;
}

void links_expire(uint64_t now)
{
    if (now >= disk_deadline()) {
        disk_expire(now);
    }
    if (now >= network_deadline()) {
        network_expire(now);
    }
    links_receive(0);
}
