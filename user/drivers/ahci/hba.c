/* The host adapter, the link to the disk, and the engine that works on the port's commands. For what they do on their own there
 * are no interrupts: the driver looks again after a tick of the timer. */
#include "ahci.h"

#define TICK 1000000ul /* ns */
#define ADAPTER_TICKS 1000u
#define ENGINE_TICKS 500u
#define LINK_TICKS 1000u
#define READY_TICKS 30000u /* a disk has to come up to speed */
#define NOTHING_THERE 0xffffffffu

static uint32_t is_gone;
static uint32_t port_number;

uint32_t port_register(uint32_t offset)
{
    return PORT_REGISTERS(port_number) + offset;
}

static uint32_t port_bit(void)
{
    return 1u << (port_number % NUM_PORT);
}

/* Lets a tick go by. Returns 0 if the adapter was lost meanwhile. */
static uint32_t tick(void)
{
    arm_timer(TICK);
    for (;;) {
        uint32_t mailbox = AWAIT(TIMER_FIRED, PCI_IRQ, PCI_UNPLUG);
        if (mailbox == TIMER_FIRED) {
            return 1;
        }
        if (mailbox == PCI_UNPLUG) {
            is_gone = 1;
            cancel_timer();
            return 0;
        }
        acknowledge();
        EMIT(PCI_IRQ_DONE);
    }
}

/* Returns 1 once the bits of a register are `value`; 0 if they are not in time, or the adapter was lost. */
static uint32_t await_bits(uint32_t offset, uint32_t mask, uint32_t value, uint32_t ticks)
{
    uint32_t bits = read32(offset);

    while ((bits & mask) != value) {
        if (ticks == 0u || bits == NOTHING_THERE || !tick()) {
            return 0;
        }
        ticks = ticks - 1u;
        bits = read32(offset);
    }
    return 1;
}

static void write_address(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + 4u, (uint32_t)(physical >> 32));
}

/* The port that the description names. Returns 0 if the adapter has no such port. */
static uint32_t find_port(void)
{
    uint64_t number = driver_number("port", 0);

    port_number = (uint32_t)(number % NUM_PORT);
    return number < NUM_PORT && (read32(HBA_PI) & port_bit()) != 0u;
}

/* The port's addresses outlive the reset: those that the firmware left are in memory that is not this driver's. */
static uint32_t reset_adapter(void)
{
    write32(HBA_GHC, GHC_AHCI);
    write32(HBA_GHC, GHC_AHCI | GHC_RESET);
    if (!await_bits(HBA_GHC, GHC_RESET, 0, ADAPTER_TICKS)) {
        return 0;
    }
    write32(HBA_GHC, GHC_AHCI);
    if (!find_port()) {
        return 0;
    }
    write_address(port_register(PX_CLB), LIST_AT);
    write_address(port_register(PX_FB), FRAMES_AT);
    uint32_t capabilities = read32(HBA_CAP);
    slots = (capabilities >> CAP_SLOTS_SHIFT & CAP_SLOTS_MASK) + 1u;
    return (capabilities & CAP_QUEUED) != 0u;
}

/* Whether what was read before came from the adapter. One that has gone reads as zero or as all ones, which depends on the
 * bridge; this register never does. */
uint32_t adapter_answers(void)
{
    return (read32(HBA_GHC) & ~(GHC_RESET | GHC_INTERRUPTS)) == GHC_AHCI;
}

static void stop_engine(void)
{
    write32(port_register(PX_CMD), CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
    await_bits(port_register(PX_CMD), CMD_RUNNING, 0, ENGINE_TICKS);
}

static void forget_interrupts(void)
{
    write32(port_register(PX_IS), INT_ALL);
    write32(HBA_IS, port_bit());
}

/* Requires: the engine is stopped. */
static void stop_receiving(void)
{
    write32(port_register(PX_IE), 0);
    write32(HBA_GHC, GHC_AHCI);
    write32(port_register(PX_CMD), CMD_SPIN_UP | CMD_POWER_ON);
    await_bits(port_register(PX_CMD), CMD_RECEIVING, 0, ENGINE_TICKS);
    if (!is_gone) {
        forget_interrupts();
    }
}

uint32_t acknowledge(void)
{
    uint32_t status = read32(port_register(PX_IS));

    if (status != INT_ALL) {
        write32(port_register(PX_IS), status);
        write32(HBA_IS, port_bit());
        if ((status & (INT_CONNECT | INT_PHY_READY)) != 0u) {
            write32(port_register(PX_SERR), 0xffffffffu);
        }
    }
    return status;
}

uint32_t port_has_error(void)
{
    return (read32(port_register(PX_IS)) & INT_ERRORS) != 0u;
}

uint32_t disk_is_there(void)
{
    return (read32(port_register(PX_SSTS)) & SSTS_DETECT) == DETECT_PRESENT;
}

static void allow_interrupts(void)
{
    forget_interrupts();
    write32(port_register(PX_IE), INT_COMMAND_DONE | INT_SET_BITS | INT_CONNECT | INT_PHY_READY | INT_ERRORS);
    write32(HBA_GHC, GHC_AHCI | GHC_INTERRUPTS);
}

/* Errors are forgotten, those of a single command too. */
void start_port(void)
{
    write32(port_register(PX_SERR), 0xffffffffu);
    allow_interrupts();
    write32(port_register(PX_CMD), CMD_START | CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
}

/* For as long as a disk needs to notice: it lets go of all commands. */
static void hold_link(void)
{
    write32(port_register(PX_SCTL), SCTL_INIT);
    if (tick()) {
        write32(port_register(PX_SCTL), SCTL_RUN);
    }
}

/* Returns 1 if a device has answered; commands can then be given. */
static uint32_t await_device(void)
{
    uint32_t is_there = await_bits(port_register(PX_SSTS), SSTS_DETECT, DETECT_PRESENT, LINK_TICKS);

    if (is_gone) {
        return 0;
    }
    write32(port_register(PX_SERR), 0xffffffffu);
    write32(port_register(PX_CMD), CMD_RECEIVE | CMD_SPIN_UP | CMD_POWER_ON);
    if (is_there && await_bits(port_register(PX_TFD), TFD_BUSY | TFD_REQUEST, 0, READY_TICKS)) {
        start_port();
        return 1;
    }
    if (!is_gone) {
        allow_interrupts(); /* one may be plugged in */
    }
    return 0;
}

/* ---- jobs ---- */

static uint32_t sets_up_link(void)
{
    return job == STARTING || job == RESETTING || job == RELINKING || job == SETTING_UP;
}

/* An engine that does not stop is not waited for any longer: what follows is a reset, or the end. The disk lets go of commands while
 * its frames are still received: of one that ends without, QEMU's model notes that it is done, and takes the next one in its slot for
 * done too. An adapter that may have been another driver's gets no memory before its reset. */
static uint32_t stop_and_start(void)
{
    if (job != RESETTING_ADAPTER || issued != 0u) {
        stop_engine();
    }
    if (is_gone || job == RECOVERING || job == RESTARTING) {
        return 1;
    }
    if (sets_up_link() || issued != 0u) {
        hold_link();
    }
    if (!is_gone && job == RESETTING_ADAPTER && !reset_adapter()) {
        return 0;
    }
    if (!is_gone && !sets_up_link()) {
        stop_receiving();
    }
    return is_gone || !sets_up_link() || await_device();
}

enum outcome do_hardware(void)
{
    enum outcome outcome = stop_and_start() ? DONE : BAD;

    if (is_gone) {
        is_gone = 0;
        outcome = GONE;
    }
    return outcome;
}
