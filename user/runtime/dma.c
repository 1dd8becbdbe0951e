/* Addresses of a link's data pages: the driver's and the device's. */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

/* Data pages of all links of a driver together. */
#define NUM_DMA_PAGE 4096u

struct dma_area {
    uint64_t address;
    uint64_t size;
    uint32_t first; /* in `physical` */
};

static struct dma_area area[DOMAIN_PORTS];
static uint64_t physical[NUM_DMA_PAGE];
static uint32_t num_page;

void dma_link_up(uint32_t number)
{
    uint64_t bytes = 0;
    uint8_t *data = domain_data(number, &bytes);
    uint32_t slot = env_slot_of_kind("dma");

    area[number].address = (uint64_t)data;
    area[number].size = bytes;
    area[number].first = num_page;
    for (uint64_t offset = 0; slot != NO_SLOT && offset < bytes; offset += PAGE_SIZE) {
        if (num_page == NUM_DMA_PAGE) {
            panic("the links have more data pages than %u\n", NUM_DMA_PAGE);
        }
        uint32_t status = sys_dma_address(slot, (uint64_t)data + offset, DMA_PHYSICAL, &physical[num_page]);
        if (status != STATUS_OK) {
            panic("the address of a data page: error %u\n", status);
        }
        num_page++;
    }
}

void dma_link_down(uint32_t number)
{
    area[number].size = 0;
}

uint64_t dma_size(uint32_t protocol)
{
    return protocol < DOMAIN_PORTS ? area[protocol].size : 0;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    return (volatile void *)(area[protocol].address + offset);
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    return physical[area[protocol].first + offset / PAGE_SIZE] + offset % PAGE_SIZE;
}
