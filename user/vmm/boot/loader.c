/* The bzImage loader, and the choice among the loaders. */
#include "boot/loader.h"

#include "ashlar/string.h"
#include "boot/firmware.h"
#include "boot/memory_map.h"
#include "boot/pvh.h"
#include "bytes.h"

/* Offsets in the file, and equally in the zero page, of the setup header. */
#define HEADER_BEGIN 0x1f1u
#define SETUP_SECTS 0x1f1u
#define SYSSIZE 0x1f4u
#define VID_MODE 0x1fau
#define BOOT_FLAG 0x1feu
#define HEADER_LENGTH 0x201u
#define HEADER_MAGIC 0x202u
#define VERSION 0x206u
#define TYPE_OF_LOADER 0x210u
#define RAMDISK_IMAGE 0x218u
#define RAMDISK_SIZE 0x21cu
#define CMD_LINE_PTR 0x228u
#define INITRD_ADDR_MAX 0x22cu
#define KERNEL_ALIGNMENT 0x230u
#define RELOCATABLE 0x234u
#define XLOADFLAGS 0x236u
#define CMDLINE_SIZE 0x238u
#define PAYLOAD_OFFSET 0x248u
#define PAYLOAD_LENGTH 0x24cu
#define PREF_ADDRESS 0x258u
#define INIT_SIZE 0x260u
#define HEADER_LAST 0x264u /* first byte past what is used here */
#define ZERO_PAGE_RSDP 0x070u
#define ZERO_PAGE_E820_COUNT 0x1e8u
#define ZERO_PAGE_E820 0x2d0u
#define ENTRY_64 0x200u

/* Bytes of the real-mode part, before the part that is loaded. */
static uint64_t setup_bytes(const uint8_t *kernel)
{
    uint64_t sectors = kernel[SETUP_SECTS];
    return ((sectors == 0 ? 4 : sectors) + 1) * 512;
}

/* Bytes of the part that is loaded, by the header, which counts in 16 bytes: the last of them may be missing. */
static uint64_t body_bytes(const struct load_request *r)
{
    uint64_t promised = get(r->kernel + SYSSIZE, 4) * 16, present = r->kernel_size - setup_bytes(r->kernel);
    return promised > present && promised - present < 16 ? present : promised;
}

/* The highest place for the RAM disk; 0 if it collides with the kernel's own needs. */
static uint64_t initrd_address(const struct load_request *r)
{
    uint64_t top = get(r->kernel + INITRD_ADDR_MAX, 4) + 1;
    top = top < r->memory_size ? top : r->memory_size;
    uint64_t kernel_end = get(r->kernel + PREF_ADDRESS, 8) + get(r->kernel + INIT_SIZE, 4);
    if (r->initrd_size > top) {
        return 0;
    }
    uint64_t address = (top - r->initrd_size) & ~0xffful;
    return address >= kernel_end ? address : 0;
}

const char *loader_check(const struct load_request *r)
{
    const uint8_t *k = r->kernel;
    if (r->firmware_size != 0) {
        return firmware_check(r);
    }
    if (pvh_is_elf(r)) {
        return pvh_check(r);
    }
    if (r->kernel_size < 0x400 || get(k + BOOT_FLAG, 2) != 0xaa55 || get(k + HEADER_MAGIC, 4) != 0x53726448) {
        return "it is neither a Linux kernel (bzImage) nor an ELF file";
    }
    if (get(k + VERSION, 2) < 0x20c || HEADER_MAGIC + k[HEADER_LENGTH] < HEADER_LAST) {
        return "it is a kernel older than Linux 3.8, without the 64-bit boot protocol";
    }
    if ((get(k + XLOADFLAGS, 2) & 1) == 0) {
        return "it is not a 64-bit kernel";
    }
    uint64_t setup = setup_bytes(k);
    if (setup > r->kernel_size || body_bytes(r) > r->kernel_size - setup) {
        return "the file is cut short: its header promises more";
    }
    uint64_t body = body_bytes(r);
    uint64_t payload = get(k + PAYLOAD_OFFSET, 4), payload_length = get(k + PAYLOAD_LENGTH, 4);
    /* Programs that are not Linux have none: both are 0. */
    if (body < ENTRY_64 + 16 || payload > body || payload_length > body - payload ||
        (payload_length < 64 && (payload | payload_length) != 0)) {
        return "its header is damaged: the compressed kernel does not lie inside the file";
    }
    uint64_t alignment = get(k + KERNEL_ALIGNMENT, 4), address = get(k + PREF_ADDRESS, 8);
    uint64_t init_size = get(k + INIT_SIZE, 4);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || address % alignment != 0 || address < MEMORY_HIGH ||
        address >= 1ul << 32 || init_size < body || k[RELOCATABLE] > 1) {
        return "its header is damaged: load address, alignment and size contradict each other";
    }
    if (address + init_size > r->memory_size) {
        return "the guest's memory is too small for it";
    }
    if (r->initrd_size != 0 && initrd_address(r) == 0) {
        return "the guest's memory is too small for it and its initial RAM disk";
    }
    uint64_t limit = get(k + CMDLINE_SIZE, 4);
    uint64_t length = strlen(r->command_line);
    if (length > limit || length >= COMMAND_LINE_MAX) {
        return "the command line is longer than it accepts";
    }
    return 0;
}

static void add_range(uint8_t *zero_page, const struct memory_range *range)
{
    uint8_t *entry = zero_page + ZERO_PAGE_E820 + 20u * zero_page[ZERO_PAGE_E820_COUNT];
    put(entry, range->from, 8);
    put(entry + 8, range->to - range->from, 8);
    put(entry + 16, range->type, 4);
    zero_page[ZERO_PAGE_E820_COUNT]++;
}

/* Identity map of 4 GiB by pages of 2 MiB. */
static void build_page_tables(uint8_t *memory)
{
    put(memory + MEMORY_PAGE_TABLES, (MEMORY_PAGE_TABLES + 0x1000) | 3, 8);
    for (uint32_t i = 0; i < 4; i++) {
        put(memory + MEMORY_PAGE_TABLES + 0x1000 + 8 * i, (MEMORY_PAGE_TABLES + 0x2000 + 0x1000 * i) | 3, 8);
    }
    for (uint32_t i = 0; i < 2048; i++) {
        put(memory + MEMORY_PAGE_TABLES + 0x2000 + 8 * i, (uint64_t)i << 21 | 0x83, 8);
    }
}

void loader_place(const struct load_request *r, struct load_result *result)
{
    if (r->firmware_size != 0) {
        firmware_place(r);
        *result = (struct load_result){.kind = START_RESET};
        return;
    }
    if (pvh_is_elf(r)) {
        pvh_place(r, result);
        return;
    }
    uint8_t *m = r->memory;
    const uint8_t *k = r->kernel;
    uint64_t setup = setup_bytes(k), address = get(k + PREF_ADDRESS, 8);
    uint8_t *zero_page = m + MEMORY_START;
    struct memory_range range[MEMORY_RANGES];

    memcpy(m + address, k + setup, body_bytes(r));
    memcpy(zero_page + HEADER_BEGIN, k + HEADER_BEGIN, HEADER_MAGIC + k[HEADER_LENGTH] - HEADER_BEGIN);
    zero_page[TYPE_OF_LOADER] = 0xff;
    put(zero_page + VID_MODE, 0xffff, 2);
    put(zero_page + ZERO_PAGE_RSDP, ACPI_BASE, 8);
    memcpy(m + MEMORY_COMMAND_LINE, r->command_line, strlen(r->command_line) + 1);
    put(zero_page + CMD_LINE_PTR, MEMORY_COMMAND_LINE, 4);
    if (r->initrd_size != 0) {
        uint64_t initrd = initrd_address(r);
        memcpy(m + initrd, r->initrd, r->initrd_size);
        put(zero_page + RAMDISK_IMAGE, initrd, 4);
        put(zero_page + RAMDISK_SIZE, r->initrd_size, 4);
    }
    memory_map(r->memory_size, range);
    for (uint32_t i = 0; i < MEMORY_RANGES; i++) {
        add_range(zero_page, &range[i]);
    }
    acpi_build(m + ACPI_BASE, ACPI_BASE, r->cpus, r->has_pci);

    build_page_tables(m);
    put(m + MEMORY_GDT + 0x10, 0x00af9b000000fffful, 8); /* 64-bit code */
    put(m + MEMORY_GDT + 0x18, 0x00cf93000000fffful, 8); /* data */
    *result = (struct load_result){START_64, address + ENTRY_64, MEMORY_PAGE_TABLES, MEMORY_GDT, MEMORY_START};
}
