/* Memory for the device: one area of coherent memory for each protocol of which the driver asks for it. */
#include "module.h"

#include <linux/dma-mapping.h>

#define DESCRIPTORS_SIZE PAGE_SIZE
#define BUFFERS_SIZE ((ETHERNET_MAX_TRANSMIT_SLOT + ETHERNET_MAX_RECEIVE_SLOT) * 2048u)

struct area {
    uint64_t size; /* 0: not there */
    void *memory;
    dma_addr_t address;
};

static struct area area[DOMAIN_PORTS];

static int begin_area(struct device *device, uint32_t protocol, uint64_t size)
{
    struct area *new = &area[protocol];

    new->memory = dma_alloc_coherent(device, size, &new->address, GFP_KERNEL);
    if (!new->memory) {
        return -ENOMEM;
    }
    new->size = size;
    return 0;
}

static void end_area(struct device *device, uint32_t protocol)
{
    struct area *old = &area[protocol];

    if (old->size != 0) {
        dma_free_coherent(device, old->size, old->memory, old->address);
        old->size = 0;
    }
}

int memory_begin(struct device *device)
{
    int error = dma_set_mask_and_coherent(device, DMA_BIT_MASK(32));

    if (error == 0) {
        error = begin_area(device, PCI_NUMBER, DESCRIPTORS_SIZE);
    }
    if (error == 0) {
        error = begin_area(device, ETHERNET_NUMBER, BUFFERS_SIZE);
    }
    if (error != 0) {
        memory_end(device);
    }
    return error;
}

void memory_end(struct device *device)
{
    end_area(device, PCI_NUMBER);
    end_area(device, ETHERNET_NUMBER);
}

uint64_t dma_size(uint32_t protocol)
{
    return protocol < DOMAIN_PORTS ? area[protocol].size : 0;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    return (volatile uint8_t *)area[protocol].memory + offset;
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    return area[protocol].address + offset;
}
