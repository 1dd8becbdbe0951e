/* Linux's PCI bus, as the protocol `pci` has it: what Linux calls becomes a message to the driver, and what the driver asks for is
 * done with Linux's functions. */
#include "module.h"

#include <linux/interrupt.h>
#include <linux/module.h>

#define REGISTERS_BAR 1
#define LEAST_REVISION 0x20 /* the RTL8139C+: those before have no descriptor mode */

unsigned long registers_base;

static struct pci_dev *device; /* the one that is bound, or null */
static struct question question = {COMPLETION_INITIALIZER(question.answered), 0};
static bool is_enabled;
static bool is_listening;

/* ---- interrupts ---- */

/* The device's line stays masked, at the device, until the driver says PCI_IRQ_DONE. */
static irqreturn_t interrupt(int line, void *unused)
{
    if (!pci_check_and_mask_intx(device)) {
        return IRQ_NONE;
    }
    domain_post(PCI_IRQ, 0, NULL, 0);
    return IRQ_HANDLED;
}

/* Linux knows the line once the device is enabled, so it is asked for here. */
static void listen(void)
{
    pci_intx(device, 0);
    if (request_irq(device->irq, interrupt, IRQF_SHARED, MODULE_NAME, &device) != 0) {
        pci_err(device, "no interrupt %u: the device will not work\n", device->irq);
        return;
    }
    WRITE_ONCE(is_listening, true);
    pci_intx(device, 1);
}

static void stop_listening(void)
{
    if (is_listening) {
        WRITE_ONCE(is_listening, false);
        pci_intx(device, 0);
        free_irq(device->irq, &device);
        domain_retract(PCI_IRQ);
    }
}

static void interrupt_done(void)
{
    if (is_listening && !pci_check_and_unmask_intx(device)) {
        domain_post(PCI_IRQ, 0, NULL, 0); /* the next one is there already */
    }
}

/* ---- what the driver sends ---- */

static void enable(void)
{
    if (pci_enable_device(device) == 0) {
        pci_set_master(device);
        is_enabled = true;
    }
    /* A device that could not be enabled answers to no access, which the driver sees. */
    domain_post(PCI_ENABLED, 0, NULL, 0);
}

static void disable(void)
{
    if (is_enabled) {
        pci_clear_master(device);
        pci_disable_device(device);
        is_enabled = false;
    }
}

void bus_received(uint32_t mailbox, const void *payload)
{
    switch (mailbox) {
    case PCI_ENABLE:
        enable();
        break;
    case PCI_DISABLE:
        disable();
        break;
    case PCI_IRQ_ON:
        listen();
        break;
    case PCI_IRQ_OFF:
        stop_listening();
        break;
    case PCI_IRQ_DONE:
        interrupt_done();
        break;
    default: /* the answer to what Linux has asked for */
        question_answer(&question, mailbox);
        break;
    }
}

void bus_broken(void)
{
    question_answer(&question, 0);
}

/* ---- what Linux calls ---- */

static uint32_t ask(uint32_t mailbox)
{
    return question_ask(&question, mailbox, NULL, 0);
}

/* The driver looks at the device, and takes it or not. */
static int ask_probe(void)
{
    const struct pci_probe probe = {
        .address = pci_dev_id(device),
        .vendor = device->vendor,
        .device = device->device,
        .revision = device->revision,
        .line = device->irq & 0xffu,
        .class = device->class,
    };
    uint32_t answer = question_ask(&question, PCI_PROBE, &probe, sizeof probe);

    return answer == PCI_PROBE_OK ? 0 : -ENODEV;
}

/* Linux lets the device go, or it is gone already. */
static void ask_release(void)
{
    if (pci_device_is_present(device)) {
        net_end();
        ask(PCI_REMOVE);
    } else {
        ask(PCI_UNPLUG); /* first: the interface is closed without touching it */
        net_end();
    }
}

/* Takes the device's window and memory for it. */
static int claim(void)
{
    int error;

    if (device->broken_intx_masking) {
        pci_err(device, "its interrupt cannot be masked\n");
        return -ENODEV;
    }
    error = pci_request_region(device, REGISTERS_BAR, MODULE_NAME);
    if (error != 0) {
        return error;
    }
    error = memory_begin(&device->dev);
    registers_base = (unsigned long)pci_iomap(device, REGISTERS_BAR, 0);
    if (error == 0 && registers_base == 0) {
        memory_end(&device->dev);
        error = -ENOMEM;
    }
    if (error != 0) {
        pci_release_region(device, REGISTERS_BAR);
    }
    return error;
}

/* The opposite. Whatever the driver has left undone is done first: the device may not work any more. */
static void release(void)
{
    stop_listening();
    disable();
    pci_iounmap(device, (void __iomem *)registers_base);
    memory_end(&device->dev);
    pci_release_region(device, REGISTERS_BAR);
    device = NULL;
}

static int probe(struct pci_dev *found, const struct pci_device_id *unused)
{
    int error;

    if (found->revision < LEAST_REVISION) {
        return -ENODEV;
    }
    if (device) {
        pci_err(found, "%s drives one device, and has %s\n", MODULE_NAME, pci_name(device));
        return -EBUSY;
    }
    device = found;
    error = claim();
    if (error != 0) {
        device = NULL;
        return error;
    }
    error = ask_probe();
    if (error == 0) {
        error = net_begin(&device->dev);
        if (error != 0) {
            ask(PCI_REMOVE);
        }
    }
    if (error != 0) {
        release();
    }
    return error;
}

static void remove(struct pci_dev *leaving)
{
    ask_release();
    release();
}

static int __maybe_unused suspend(struct device *unused)
{
    uint32_t answer;

    net_suspend();
    answer = ask(PCI_SUSPEND);
    if (answer != PCI_SUSPEND_OK) {
        net_resume();
        return -EBUSY;
    }
    return 0;
}

static int __maybe_unused resume(struct device *unused)
{
    if (ask(PCI_RESUME) != PCI_RESUME_OK) {
        return -EIO;
    }
    net_resume();
    return 0;
}

static SIMPLE_DEV_PM_OPS(power, suspend, resume);

static const struct pci_device_id devices[] = {{PCI_DEVICE(0x10ec, 0x8139)}, {}};
MODULE_DEVICE_TABLE(pci, devices);

static struct pci_driver bus = {
    .name = MODULE_NAME,
    .id_table = devices,
    .probe = probe,
    .remove = remove,
    .driver.pm = &power,
};

static int __init begin(void)
{
    int error;

    net_prepare();
    error = domain_begin();
    if (error == 0) {
        error = pci_register_driver(&bus);
        if (error != 0) {
            domain_end();
        }
    }
    return error;
}
module_init(begin);

static void __exit end(void)
{
    pci_unregister_driver(&bus);
    domain_end();
}
module_exit(end);

MODULE_DESCRIPTION("Ashlar's active driver of the RTL8139C+");
MODULE_LICENSE("Dual MIT/GPL");
