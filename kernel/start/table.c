/* The boot table: header, checksums and sections; access to its entries. table_objects.c and
 * table_processes.c check the entries. */
#include "table.h"

#include "abi.h"
#include "config.h"
#include "cpu/cpu.h"
#include "crc32.h"
#include "boot/info.h"
#include "memory/kernel_map.h"
#include "layout.h"
#include "print.h"
#include "process.h"
#include "table_check.h"

#define FOUR_GIB 0x100000000ul
#define FRAME 4096ul
#define REBUILD "rebuild it with ./ashlar build"

struct section_rule {
    const char *name;
    uint32_t entry_size;
    uint32_t max;
};

#define RULE(index, name, entry, most) [index] = {name, sizeof(entry), most},
static const struct section_rule rules[BOOT_NUM_SECTIONS] = {BOOT_SECTIONS(RULE)};

extern char kernel_end[];

static const struct boot_header *header;

const struct boot_header *table_header(void)
{
    return header;
}

uint32_t table_count(enum boot_section_index section)
{
    return header->sections[section].count;
}

static const void *entry(enum boot_section_index section, uint32_t i)
{
    return (const char *)header + header->sections[section].offset + (uint64_t)i * rules[section].entry_size;
}

const struct boot_process *table_process(uint32_t i)
{
    return entry(BOOT_PROCESSES, i);
}

const struct boot_thread *table_thread(uint32_t i)
{
    return entry(BOOT_THREADS, i);
}

const struct boot_segment *table_segment(uint32_t i)
{
    return entry(BOOT_SEGMENTS, i);
}

const struct boot_grant *table_grant(uint32_t i)
{
    return entry(BOOT_GRANTS, i);
}

const struct boot_endpoint *table_endpoint(uint32_t i)
{
    return entry(BOOT_ENDPOINTS, i);
}

const struct boot_notification *table_notification(uint32_t i)
{
    return entry(BOOT_NOTIFICATIONS, i);
}

const struct boot_buffer *table_buffer(uint32_t i)
{
    return entry(BOOT_BUFFERS, i);
}

const struct boot_share *table_share(uint32_t i)
{
    return entry(BOOT_SHARES, i);
}

const struct boot_irq *table_irq(uint32_t i)
{
    return entry(BOOT_IRQS, i);
}

const struct boot_device *table_device(uint32_t i)
{
    return entry(BOOT_DEVICES, i);
}

const struct boot_cpu *table_cpu(uint32_t i)
{
    return entry(BOOT_CPUS, i);
}

const struct boot_vm *table_vm(uint32_t i)
{
    return entry(BOOT_VMS, i);
}

const struct boot_console *table_console(uint32_t i)
{
    return entry(BOOT_CONSOLES, i);
}

uint32_t table_uses_dma(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_GRANTS); i++) {
        if (table_grant(i)->kind == GRANT_DMA) {
            return 1;
        }
    }
    return 0;
}

static void check_module(void)
{
    if (boot_info.module_size == 0) {
        boot_fail("no system image: pass it as the loader's only module (QEMU: -initrd build/SYSTEM/system.img)");
    }
    if (boot_info.module % FRAME != 0 || boot_info.module >= FOUR_GIB ||
        boot_info.module_size > FOUR_GIB - boot_info.module) {
        boot_fail("system image: the loader put it at %x, not at a page below 4 GiB; use GRUB 2 or QEMU",
                  boot_info.module);
    }
    if (boot_info.module < kernel_physical(kernel_end) && KERNEL_PHYSICAL < boot_info.module + boot_info.module_size) {
        boot_fail(
            "system image: the loader put it over the kernel, there is too little memory; with QEMU use a larger -m");
    }
    if (boot_info.module_size < sizeof(struct boot_header)) {
        boot_fail("system image: %U bytes are too few to hold a boot table; " REBUILD, boot_info.module_size);
    }
}

static void check_header(void)
{
    if (header->magic != BOOT_TABLE_MAGIC) {
        boot_fail("system image: magic number wrong, this is not a system image; pass build/SYSTEM/system.img");
    }
    if (header->version != BOOT_TABLE_VERSION) {
        boot_fail("system image: boot table version %u, this kernel reads %u; " REBUILD, header->version,
                  BOOT_TABLE_VERSION);
    }
    if (header->image_size > boot_info.module_size) {
        boot_fail("system image: cut short: %U bytes of %U; " REBUILD, boot_info.module_size, header->image_size);
    }
    if (header->image_size % FRAME != 0 || header->payload_offset % FRAME != 0 ||
        header->payload_offset > header->image_size || header->table_size < sizeof *header ||
        header->table_size > header->payload_offset) {
        boot_fail("system image: sizes in the header contradict each other; " REBUILD);
    }
}

static void check_checksums(void)
{
    const uint8_t *bytes = (const uint8_t *)header;
    const uint8_t zero[4] = {0, 0, 0, 0};
    uint64_t field = __builtin_offsetof(struct boot_header, table_crc32);
    uint32_t crc = crc32(0, bytes, field);

    crc = crc32(crc, zero, sizeof zero);
    crc = crc32(crc, bytes + field + sizeof zero, header->table_size - field - sizeof zero);
    if (crc != header->table_crc32) {
        boot_fail("system image: table checksum wrong; " REBUILD);
    }
    if (crc32(0, bytes + header->payload_offset, header->image_size - header->payload_offset) !=
        header->payload_crc32) {
        boot_fail("system image: payload checksum wrong; " REBUILD);
    }
}

static void check_sections(void)
{
    for (uint32_t i = 0; i < BOOT_NUM_SECTIONS; i++) {
        const struct boot_section *section = &header->sections[i];
        if (section->count > rules[i].max) {
            boot_fail(
                "system image: %u %s, the kernel has room for %u; describe a smaller system or raise the bound in "
                "kernel/config.h",
                section->count, rules[i].name, rules[i].max);
        }
        if (section->offset % 8 != 0 || section->offset < sizeof *header ||
            section->offset + (uint64_t)section->count * rules[i].entry_size > header->table_size) {
            boot_fail("system image: section of %s lies outside the table; " REBUILD, rules[i].name);
        }
    }
}

void table_bad(enum boot_section_index section, uint32_t i, const char *reason)
{
    boot_fail("system image: entry %u of %s: %s; " REBUILD, i, rules[section].name, reason);
}

void table_verify(void)
{
    check_module();
    header = direct(boot_info.module);
    check_header();
    check_checksums();
    check_sections();
    table_check_objects();
    table_check_processes();
    boot_print("boot: system %s: %u processes, %u threads, image intact\n", header->name, table_count(BOOT_PROCESSES),
               table_count(BOOT_THREADS));
}
