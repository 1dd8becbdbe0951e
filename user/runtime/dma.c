/* Addresses of a link's data pages: the driver's and the device's. */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "clients_serve.h"
#include "domain_internal.h"

/* Data pages of all links of a driver together. */
#define NUM_DMA_PAGE 4096u

struct dma_area {
    uint64_t address;
    uint64_t size;  /* 0: there is no link */
    uint64_t bytes; /* the size that it has, or had */
    uint32_t first; /* in `physical` */
};

/* Most drivers have one client of each protocol, and no such function. */
uint32_t clients_port(uint32_t protocol) __attribute__((weak));

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
    area[number].bytes = bytes;
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

/* The area of the protocol's link; of several, of the client's whose turn it is. */
static const struct dma_area *area_of(uint32_t protocol)
{
    uint32_t port = clients_port != 0 ? clients_port(protocol) : protocol;

    return &area[port < DOMAIN_PORTS ? port : DOMAIN_EVENTS];
}

/* Behind an area stand the pages of another link. */
static void require(const struct dma_area *own, uint32_t protocol, uint64_t offset)
{
    if (offset >= own->bytes) {
        panic("byte %lu of the area of protocol %u: it has %lu\n", offset, protocol, own->bytes);
    }
}

uint64_t dma_size(uint32_t protocol)
{
    return area_of(protocol)->size;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    const struct dma_area *own = area_of(protocol);

    require(own, protocol, offset);
    return (volatile void *)(own->address + offset);
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    const struct dma_area *own = area_of(protocol);

    require(own, protocol, offset);
    return physical[own->first + offset / PAGE_SIZE] + offset % PAGE_SIZE;
}
