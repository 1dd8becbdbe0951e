/* Checks of the boot table: everything but processes. */
#include "abi.h"
#include "arch.h"
#include "boot/memory.h"
#include "boot/platform.h"
#include "print.h"
#include "table_check.h"

#define FRAME 4096ul
#define PORT_END 0x10000ul
#define FOUR_GIB 0x100000000ul
#define NUM_FUNCTION 0x10000u

struct span {
    uint64_t first;
    uint64_t last;
};

/* Ports the kernel keeps for itself. */
static const struct span kernel_ports[] = {
    {0x20, 0x21}, {0x60, 0x60}, {0x64, 0x64}, {0xa0, 0xa1}, {0xf4, 0xf4}, {0x3f8, 0x3ff},
};

static int is_process(uint32_t p)
{
    return p < table_count(BOOT_PROCESSES);
}

static int is_name(const char name[32])
{
    for (uint32_t i = 0; i < 32; i++) {
        if (name[i] == 0) {
            return 1;
        }
    }
    return 0;
}

static void check_endpoints(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_ENDPOINTS); i++) {
        if (!is_process(table_endpoint(i)->owner)) {
            table_bad(BOOT_ENDPOINTS, i, "its owner is no process");
        }
    }
    for (uint32_t i = 0; i < table_count(BOOT_NOTIFICATIONS); i++) {
        if (!is_process(table_notification(i)->owner)) {
            table_bad(BOOT_NOTIFICATIONS, i, "its owner is no process");
        }
    }
}

static void check_buffers(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_BUFFERS); i++) {
        if (table_buffer(i)->capacity == 0 || table_buffer(i)->capacity > BUFFER_CAPACITY) {
            table_bad(BOOT_BUFFERS, i, "its capacity is out of range");
        }
    }
    for (uint32_t i = 0; i < table_count(BOOT_SHARES); i++) {
        const struct boot_share *share = table_share(i);
        if (!is_process(share->from) || !is_process(share->to)) {
            table_bad(BOOT_SHARES, i, "it does not join two processes");
        }
    }
}

static void check_interrupts(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_IRQS); i++) {
        const struct boot_irq *irq = table_irq(i);
        if (irq->gsi >= NUM_IRQ_LINE || irq->gsi == SERIAL_LINE || irq->gsi == KEYBOARD_LINE) {
            table_bad(BOOT_IRQS, i, "the line does not exist or is the kernel's own");
        }
        if (irq->notification != NONE && irq->notification >= table_count(BOOT_NOTIFICATIONS)) {
            table_bad(BOOT_IRQS, i, "it signals no notification");
        }
        if (irq->cpu >= table_count(BOOT_CPUS)) {
            table_bad(BOOT_IRQS, i, "its CPU does not exist");
        }
        if (irq->function != NONE && irq->function >= NUM_FUNCTION) {
            table_bad(BOOT_IRQS, i, "its PCI function does not exist");
        }
    }
}

static int overlap(uint64_t base, uint64_t size, uint64_t other, uint64_t other_size)
{
    return base < other + other_size && other < base + size;
}

static void check_window(uint32_t i, const struct boot_device *device)
{
    if (device->base % FRAME != 0 || device->size % FRAME != 0 || device->size == 0 || device->base >= FOUR_GIB ||
        device->size > FOUR_GIB - device->base) {
        table_bad(BOOT_DEVICES, i, "its register window is not made of pages below 4 GiB");
    }
    if (memory_is_ram(device->base, device->size)) {
        table_bad(BOOT_DEVICES, i, "its register window is memory on this machine; correct the machine description");
    }
    if (overlap(device->base, device->size, platform.local_apic, FRAME) ||
        overlap(device->base, device->size, platform.io_apic, FRAME) ||
        (platform.hpet != 0 && overlap(device->base, device->size, platform.hpet, FRAME))) {
        table_bad(BOOT_DEVICES, i, "its register window holds an interrupt controller or clock of the kernel");
    }
    for (uint32_t k = 0; k < platform.iommu_count; k++) {
        if (overlap(device->base, device->size, platform.iommu[k], IOMMU_WINDOW)) {
            table_bad(BOOT_DEVICES, i, "its register window holds an IOMMU");
        }
    }
}

static void check_ports(uint32_t i, const struct boot_device *device)
{
    if (device->size == 0 || device->base >= PORT_END || device->size > PORT_END - device->base) {
        table_bad(BOOT_DEVICES, i, "its port range is empty or out of range");
    }
    for (uint32_t k = 0; k < sizeof kernel_ports / sizeof kernel_ports[0]; k++) {
        if (overlap(device->base, device->size, kernel_ports[k].first,
                    kernel_ports[k].last - kernel_ports[k].first + 1)) {
            table_bad(BOOT_DEVICES, i, "its port range holds ports of the kernel");
        }
    }
    if (platform.pm1a_control != 0 && overlap(device->base, device->size, platform.pm1a_control, 2)) {
        table_bad(BOOT_DEVICES, i, "its port range holds the power control port");
    }
}

static void check_devices(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_DEVICES); i++) {
        const struct boot_device *device = table_device(i);
        if (!is_process(device->owner)) {
            table_bad(BOOT_DEVICES, i, "its owner is no process");
        }
        if (device->kind == GRANT_MMIO) {
            check_window(i, device);
        } else if (device->kind == GRANT_PORT) {
            check_ports(i, device);
        } else {
            table_bad(BOOT_DEVICES, i, "it is neither registers nor ports");
        }
        if (device->function != NONE && device->function >= NUM_FUNCTION) {
            table_bad(BOOT_DEVICES, i, "its PCI function does not exist");
        }
        for (uint32_t k = 0; k < i; k++) {
            const struct boot_device *other = table_device(k);
            if (other->function == device->function && device->function != NONE && other->owner != device->owner) {
                table_bad(BOOT_DEVICES, i, "its PCI function belongs to another process");
            }
            if (other->kind == device->kind && overlap(device->base, device->size, other->base, other->size)) {
                table_bad(BOOT_DEVICES, i, "it overlaps an earlier device");
            }
        }
    }
}

static void check_machines(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_VMS); i++) {
        if (!is_process(table_vm(i)->process)) {
            table_bad(BOOT_VMS, i, "its monitor is no process");
        }
    }
    for (uint32_t i = 0; i < table_count(BOOT_CONSOLES); i++) {
        if (!is_name(table_console(i)->name)) {
            table_bad(BOOT_CONSOLES, i, "its name has no end");
        }
    }
    if (table_count(BOOT_CPUS) == 0 || table_count(BOOT_CONSOLES) == 0) {
        boot_fail("system image: it names no CPU or no console; rebuild it with ./ashlar build");
    }
}

void table_check_objects(void)
{
    check_endpoints();
    check_buffers();
    check_interrupts();
    check_devices();
    check_machines();
}
