/* Device resources. */
#include "device.h"

#include "abi.h"

/* Constant after start-up. */
struct device {
    uint32_t kind; /* GRANT_MMIO, GRANT_PORT, or GRANT_NONE */
    uint32_t owner;
    uint64_t base;
    uint64_t size;
};

static struct device device[NUM_DEVICE];

void device_init(void)
{
    for (uint32_t d = 0u; d < NUM_DEVICE; d = d + 1u) {
        device[d].kind = GRANT_NONE;
        device[d].owner = NONE;
        device[d].base = 0u;
        device[d].size = 0u;
    }
}

void device_define(uint32_t d, uint32_t kind, uint64_t base, uint64_t size, uint32_t owner)
{
    device[d].kind = kind;
    device[d].base = base;
    device[d].size = size;
    device[d].owner = owner;
}

uint32_t device_owner(uint32_t d)
{
    return device[d].owner;
}

uint32_t device_frame(uint32_t d, uint64_t page)
{
    /* Compared in pages: page * 4096 could wrap around. */
    if (device[d].kind != GRANT_MMIO || page >= device[d].size / 4096ul) {
        return NONE;
    }
    uint64_t frame = device[d].base / 4096ul + page;
    return (uint32_t)frame;
}

uint32_t device_port(uint32_t d, uint64_t offset, uint64_t width)
{
    if (device[d].kind != GRANT_PORT) {
        return NONE;
    }
    if (width != 1ul && width != 2ul && width != 4ul) {
        return NONE;
    }
    if (offset >= device[d].size || device[d].size - offset < width) {
        return NONE;
    }
    uint64_t port = device[d].base + offset;
    return (uint32_t)port;
}

#if DEBUG
#include "device_check.c"
#endif
