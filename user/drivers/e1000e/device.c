/* The device as a whole: reset, address, filter of frames, and whether its cable is plugged. */
#include "e1000e.h"

#define RESET_POLLS 100000u

uint32_t link_is_up;
uint32_t filter;
uint8_t address[6];

/* Accesses to memory that are under way end first: the data sheet asks for it, lest they be cut in two. Where the device does
 * not say that they have ended, it is reset all the same. */
uint32_t reset_device(void)
{
    uint32_t polls = 0;
    uint32_t is_busy = 1;

    write32(CTRL, CTRL_MASTER_OFF);
    while (is_busy && polls < RESET_POLLS) {
        is_busy = (read32(STATUS) & STATUS_MASTER) != 0u;
        polls = polls + 1u;
    }
    write32(CTRL, CTRL_RST);
    polls = 0;
    is_busy = 1;
    while (is_busy && polls < RESET_POLLS) {
        is_busy = (read32(CTRL) & CTRL_RST) != 0u || (read32(EECD) & EECD_READ) == 0u;
        polls = polls + 1u;
    }
    if (!is_busy) {
        write32(CTRL, CTRL_DUPLEX | CTRL_AUTO_SPEED | CTRL_LINK);
    }
    return !is_busy;
}

void read_address(void)
{
    uint32_t low = read32(RAL0);
    uint32_t high = read32(RAH0);

    address[0] = (uint8_t)low;
    address[1] = (uint8_t)(low >> 8);
    address[2] = (uint8_t)(low >> 16);
    address[3] = (uint8_t)(low >> 24);
    address[4] = (uint8_t)high;
    address[5] = (uint8_t)(high >> 8);
}

/* The upper half marks the address as one to listen to. */
void write_address(void)
{
    uint32_t low =
        (uint32_t)address[0] | (uint32_t)address[1] << 8 | (uint32_t)address[2] << 16 | (uint32_t)address[3] << 24;
    uint32_t high = (uint32_t)address[4] | (uint32_t)address[5] << 8;

    write32(RAL0, low);
    write32(RAH0, RAH_VALID | high);
}

void write_filter(void)
{
    write32(RCTL, RCTL_EN | RCTL_STRIP_CRC | filter);
}

void stop_device(void)
{
    write32(IMC, INT_ALL);
    write32(RCTL, 0);
    write32(TCTL, 0);
    (void)read32(ICR);
}

static void write_ring(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + (RDBAH - RDBAL), (uint32_t)(physical >> 32));
    write32(place + (RDLEN - RDBAL), NUM_DESCRIPTOR * (uint32_t)sizeof(struct descriptor));
    write32(place + (RDH - RDBAL), 0);
    write32(place + (RDT - RDBAL), 0);
}

void write_rings(void)
{
    write_ring(RDBAL, RX_RING);
    write_ring(TDBAL, TX_RING);
}

void check_link(void)
{
    uint32_t status = read32(STATUS);
    uint32_t is_up = (status & STATUS_LINK) != 0u;

    if (is_up && !link_is_up) {
        uint32_t speed = status & STATUS_SPEED;
        uint32_t megabits = speed == 0u ? 10u : speed == STATUS_SPEED_100 ? 100u : 1000u;
        struct ethernet_link_up body = {megabits, (status & STATUS_DUPLEX) != 0u ? 1u : 0u};
        link_is_up = 1;
        EMIT(ETHERNET_LINK_UP, 0, &body);
    } else if (!is_up && link_is_up) {
        link_is_up = 0;
        EMIT(ETHERNET_LINK_DOWN);
    }
}
