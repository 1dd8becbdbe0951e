/* Driver of QEMU's device `edu`, which computes factorials and interrupts when it has one.
 *
 * Protocols: pci with the bus, skeleton with one client, and a timer, because a device may never answer. What the device is doing
 * for the bus is where the program stands: unbound(), running(), suspended(), failed(). */
#include "registers.h"

#include "ashlar/driver.h"
#include "ashlar/pci_registers.h"
#include "skeleton_protocol.h"
#include "pci_protocol.h"
#include "timer_protocol.h"

#define PATIENCE 1000000000ul /* ns */
#define FACTORIAL_MOST 479001600u

/* Reasons of `failed`; the first is also that of the bus's messages. */
enum { BROKEN = 1, NO_DEVICE = 2 };

enum life { UNBOUND, RUNNING, SUSPENDED, FAILED };

/* ---- the device ---- */

/* Has the device interrupt for factorials from now on, and forgets interrupts of before. Returns 0 if it is another device. */
static uint32_t set_up(void)
{
    if ((read32(IDENTIFICATION) & 0xffu) != IS_EDU) {
        return 0;
    }
    write32(ACKNOWLEDGE, 0xffffffffu);
    write32(STATUS, STATUS_INTERRUPT);
    return 1;
}

static void stop_device(void)
{
    write32(STATUS, 0);
    write32(ACKNOWLEDGE, 0xffffffffu);
}

/* Takes an interrupt. Returns 1 if a factorial is there. */
static uint32_t interrupt(void)
{
    uint32_t causes = read32(INTERRUPTS);

    write32(ACKNOWLEDGE, causes);
    EMIT(PCI_IRQ_DONE);
    return (causes & INTERRUPT_FACTORIAL) != 0u;
}

/* ---- the client ---- */

static void fail(uint64_t cookie, uint8_t reason)
{
    struct skeleton_failed body = {reason};

    EMIT(SKELETON_FAILED, cookie, &body);
}

/* Waits until the device has a factorial, or for PATIENCE. Messages of the bus are left for running(). */
static uint32_t await_factorial(void)
{
    struct timer_arm body = {PATIENCE};
    uint32_t is_there = 0;
    uint32_t is_armed = 1;

    EMIT(TIMER_ARM, 0, &body);
    while (!is_there && is_armed) {
        if (AWAIT(PCI_IRQ, TIMER_FIRED) == PCI_IRQ) {
            is_there = interrupt();
        } else {
            is_armed = 0;
        }
    }
    if (is_armed) {
        EMIT(TIMER_CANCEL);
        while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) != TIMER_CANCELLED) {
        }
    }
    return is_there;
}

static void compute(void)
{
    uint64_t cookie = COOKIE();
    uint32_t operand = MAIL(skeleton_compute)->operand;

    /* It is still at work if it has let an earlier client down, or if it is gone and all that is read of it are ones. */
    if ((read32(STATUS) & STATUS_COMPUTING) != 0u) {
        fail(cookie, BROKEN);
        return;
    }
    write32(FACTORIAL, operand);
    if (!await_factorial()) {
        fail(cookie, BROKEN);
        return;
    }
    struct skeleton_computed body = {read32(FACTORIAL)};
    if (body.factorial < 1u || body.factorial > FACTORIAL_MOST) {
        fail(cookie, BROKEN);
        return;
    }
    EMIT(SKELETON_COMPUTED, cookie, &body);
}

/* ---- the bus ---- */

/* The device answers to accesses from now on. Returns 0 if it was lost meanwhile. */
static uint32_t enable_device(void)
{
    EMIT(PCI_ENABLE);
    return AWAIT(PCI_ENABLED, PCI_UNPLUG) == PCI_ENABLED;
}

static void disable_device(void)
{
    EMIT(PCI_IRQ_OFF);
    EMIT(PCI_DISABLE);
}

/* The bus has said that the device is gone. */
static enum life unplug(void)
{
    EMIT(PCI_UNPLUG_OK);
    return UNBOUND;
}

static enum life probe(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!set_up()) {
        struct pci_probe_fail body = {BROKEN};
        EMIT(PCI_DISABLE);
        EMIT(PCI_PROBE_FAIL, 0, &body);
        return UNBOUND;
    }
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_PROBE_OK);
    return RUNNING;
}

static enum life remove_device(void)
{
    stop_device();
    disable_device();
    EMIT(PCI_REMOVE_OK);
    return UNBOUND;
}

static enum life suspend(void)
{
    stop_device();
    disable_device();
    EMIT(PCI_SUSPEND_OK);
    return SUSPENDED;
}

static enum life resume(void)
{
    if (!enable_device()) {
        return unplug();
    }
    if (!set_up()) {
        struct pci_resume_fail body = {BROKEN};
        EMIT(PCI_DISABLE);
        EMIT(PCI_RESUME_FAIL, 0, &body);
        return FAILED;
    }
    EMIT(PCI_IRQ_ON);
    EMIT(PCI_RESUME_OK);
    return RUNNING;
}

static enum life recover(void)
{
    if (!set_up()) {
        disable_device();
        EMIT(PCI_UNRECOVERABLE);
        return FAILED;
    }
    EMIT(PCI_RECOVERED);
    return RUNNING;
}

/* ---- where the program stands: each waits for all that may come there, and returns where it goes on ---- */

static enum life unbound(void)
{
    switch (AWAIT(PCI_PROBE, PCI_UNPLUG, SKELETON_COMPUTE)) {
    case PCI_PROBE:
        return probe();
    case SKELETON_COMPUTE:
        fail(COOKIE(), NO_DEVICE);
        return UNBOUND;
    default:
        return UNBOUND;
    }
}

static enum life running(void)
{
    switch (AWAIT(PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, SKELETON_COMPUTE)) {
    case PCI_IRQ:
        interrupt();
        return RUNNING;
    case PCI_UNPLUG:
        return unplug();
    case PCI_REMOVE:
        return remove_device();
    case PCI_SUSPEND:
        return suspend();
    case PCI_BUS_ERROR:
        return recover();
    default:
        compute();
        return RUNNING;
    }
}

/* The client sleeps with its device. */
static enum life suspended(void)
{
    return AWAIT(PCI_RESUME, PCI_UNPLUG) == PCI_RESUME ? resume() : unplug();
}

static enum life failed(void)
{
    switch (AWAIT(PCI_REMOVE, PCI_UNPLUG, SKELETON_COMPUTE)) {
    case PCI_REMOVE:
        EMIT(PCI_REMOVE_OK);
        return UNBOUND;
    case PCI_UNPLUG:
        return unplug();
    default:
        fail(COOKIE(), NO_DEVICE);
        return FAILED;
    }
}

void driver(void)
{
    enum life life = UNBOUND;

    for (;;) {
        switch (life) {
        case UNBOUND:
            life = unbound();
            break;
        case RUNNING:
            life = running();
            break;
        case SUSPENDED:
            life = suspended();
            break;
        case FAILED:
            life = failed();
            break;
        }
    }
}

const struct protocol *const driver_protocols[] = {&pci_protocol, &skeleton_protocol, &timer_protocol, 0};
