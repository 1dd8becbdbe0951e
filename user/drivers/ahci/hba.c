/* The host adapter, the link to the disk, and the engine that works on the port's commands. A deadline is a number of
 * register reads: each takes its way over the bus, which no adapter does in less than a tenth of a microsecond. */
#include "ahci.h"

#define RESET_POLLS 1000000u
#define ENGINE_POLLS 1000000u
#define LINK_POLLS 1000000u
#define HOLD_POLLS 20000u /* the link's reset lasts a millisecond at least */

/* Reads a register until the bits of `mask` are `value`. Returns 1 if they are. */
static uint32_t poll(uint32_t offset, uint32_t mask, uint32_t value, uint32_t polls)
{
    uint32_t bits = read32(offset) & mask;

    while (bits != value && polls != 0u) {
        bits = read32(offset) & mask;
        polls = polls - 1u;
    }
    return bits == value;
}

static void write_address(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + 4u, (uint32_t)(physical >> 32));
}

/* The port's addresses outlive the reset: those that the firmware left are in memory that is not this driver's. */
uint32_t reset_adapter(void)
{
    write32(HBA_GHC, GHC_AHCI);
    write32(HBA_GHC, GHC_AHCI | GHC_RESET);
    if (!poll(HBA_GHC, GHC_RESET, 0, RESET_POLLS)) {
        return 0;
    }
    write32(HBA_GHC, GHC_AHCI);
    write_address(PX_CLB, LIST_AT);
    write_address(PX_FB, FRAMES_AT);
    uint32_t capabilities = read32(HBA_CAP);
    slots = (capabilities >> CAP_SLOTS_SHIFT & CAP_SLOTS_MASK) + 1u;
    return (capabilities & CAP_QUEUED) != 0u && (read32(HBA_PI) & PORT_BIT) != 0u;
}

/* Whether what was read before came from the adapter. One that has gone reads as zero or as all ones, which depends on the
 * bridge; this register never does. */
uint32_t adapter_answers(void)
{
    return (read32(HBA_GHC) & ~(GHC_RESET | GHC_INTERRUPTS)) == GHC_AHCI;
}

void stop_port(void)
{
    write32(PX_CMD, CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
    poll(PX_CMD, CMD_RUNNING, 0, ENGINE_POLLS);
}

void quiet_adapter(void)
{
    write32(PX_IE, 0);
    write32(HBA_GHC, GHC_AHCI);
    stop_port();
    write32(PX_CMD, CMD_SPIN_UP | CMD_POWER_ON);
    poll(PX_CMD, CMD_RECEIVING, 0, ENGINE_POLLS);
    write32(PX_IS, INT_ALL);
    write32(HBA_IS, PORT_BIT);
}

uint32_t disk_is_there(void)
{
    return (read32(PX_SSTS) & SSTS_DETECT) == DETECT_PRESENT;
}

static void allow_interrupts(void)
{
    write32(PX_IS, INT_ALL);
    write32(HBA_IS, PORT_BIT);
    write32(PX_IE, INT_SET_BITS | INT_CONNECT | INT_PHY_READY | INT_ERRORS);
    write32(HBA_GHC, GHC_AHCI | GHC_INTERRUPTS);
}

/* Requires: the engine is stopped. Errors are forgotten, those of a single command too. */
void start_port(void)
{
    write32(PX_SERR, 0xffffffffu);
    allow_interrupts();
    write32(PX_CMD, CMD_START | CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
}

uint32_t reset_link(void)
{
    stop_port();
    write32(PX_SCTL, SCTL_INIT);
    poll(PX_SSTS, 0, 1, HOLD_POLLS); /* never so: it takes its time */
    write32(PX_SCTL, SCTL_RUN);
    uint32_t is_there = poll(PX_SSTS, SSTS_DETECT, DETECT_PRESENT, LINK_POLLS);
    write32(PX_SERR, 0xffffffffu);
    write32(PX_CMD, CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
    if (!is_there || !poll(PX_TFD, TFD_BUSY | TFD_REQUEST, 0, LINK_POLLS)) {
        allow_interrupts(); /* one may be plugged in */
        return 0;
    }
    start_port();
    return 1;
}
