/* The device as a whole: reset, address, filter of frames, and whether its cable is plugged. */
#include "rtl8139.h"

#define RESET_POLLS 100000u

uint32_t link_is_up;
uint32_t filter;
uint32_t groups_low;
uint32_t groups_high;
uint8_t address[6];

uint32_t reset_device(void)
{
    uint32_t polls = 0;
    uint8_t command = CR_RST;

    write8(CR, CR_RST);
    while ((command & CR_RST) != 0u && polls < RESET_POLLS) {
        command = read8(CR);
        polls = polls + 1u;
    }
    return (command & CR_RST) == 0u;
}

void read_address(void)
{
    for (uint32_t i = 0; i < 6u; i = i + 1u) {
        address[i] = read8(IDR0 + i);
    }
}

void write_address(void)
{
    uint32_t low =
        (uint32_t)address[0] | (uint32_t)address[1] << 8 | (uint32_t)address[2] << 16 | (uint32_t)address[3] << 24;
    uint32_t high = (uint32_t)address[4] | (uint32_t)address[5] << 8;

    write8(CR9346, CR9346_WRITE);
    write32(IDR0, low);
    write32(IDR0 + 4u, high);
    write8(CR9346, CR9346_LOCK);
}

void write_filter(void)
{
    write32(MAR0, groups_low);
    write32(MAR0 + 4u, groups_high);
    write32(RCR, RCR_BURST | RCR_FIFO | filter);
}

void stop_device(void)
{
    write16(IMR, 0);
    write8(CR, 0);
    write16(ISR, 0xffff);
}

void write_ring(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + 4u, (uint32_t)(physical >> 32));
}

void check_link(void)
{
    uint8_t state = read8(MSR);
    uint32_t is_up = (state & MSR_LINK_FAILED) == 0u;

    if (is_up && !link_is_up) {
        struct ethernet_link_up body = {(state & MSR_TEN) != 0u ? 10u : 100u, 1};
        link_is_up = 1;
        EMIT(ETHERNET_LINK_UP, 0, &body);
    } else if (!is_up && link_is_up) {
        link_is_up = 0;
        EMIT(ETHERNET_LINK_DOWN);
    }
}
