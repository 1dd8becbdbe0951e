/* Starting by a firmware: images that are none, where its parts come to lie, and what it is told. */
#include "../boot/firmware.c"

#include "../boot/acpi.c"
#include "../devices/fw_cfg.c"

#include <stdlib.h>

#include "../../libc/tests/check.h"

#define MEMORY (16ul << 20)
#define IMAGE 0x40000u

static uint8_t image[IMAGE];
static struct load_request request;
static struct fw_cfg fw_cfg;

static void make(uint64_t bytes)
{
    for (uint32_t i = 0; i < IMAGE; i++) {
        image[i] = (uint8_t)(i * 13 + i / 4096);
    }
    image[bytes - 16] = ENTRY_JUMP;
    request = (struct load_request){.memory_size = MEMORY, .firmware = image, .firmware_size = bytes, .cpus = 2};
}

static void test_faults(void)
{
    make(IMAGE);
    CHECK(firmware_check(&request) == 0);
    image[IMAGE - 16] = 0xe9;
    CHECK(firmware_check(&request) != 0);
    make(IMAGE);
    request.memory_size = 2ul << 20;
    CHECK(firmware_check(&request) != 0);
    static const uint64_t sizes[] = {1, 15, 2048, IMAGE - 1, FIRMWARE_MOST + PAGE, ~0ul};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        make(IMAGE);
        request.firmware_size = sizes[i];
        CHECK(firmware_check(&request) != 0);
    }
}

/* The byte of a file that the firmware is told. */
static const uint8_t *file(const char *wanted, uint32_t *bytes)
{
    const uint8_t *directory = fw_cfg.store + fw_cfg.item[fw_cfg.directory].begin;
    for (uint32_t i = 0; i < fw_cfg.files; i++) {
        const struct fw_cfg_item *item = &fw_cfg.item[fw_cfg.items - fw_cfg.files + i];
        if (strcmp((const char *)directory + 4 + i * FILE_ENTRY + FILE_NAME, wanted) == 0) {
            *bytes = item->bytes;
            return fw_cfg.store + item->begin;
        }
    }
    *bytes = 0;
    return 0;
}

static uint8_t sum(const uint8_t *from, uint64_t bytes)
{
    uint8_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        sum = (uint8_t)(sum + from[i]);
    }
    return sum;
}

/* The tables are found from the root pointer that the firmware copies, all of them in memory that it keeps. */
static void test_tables(const uint8_t *memory)
{
    uint32_t bytes;
    const uint8_t *root = file("etc/acpi/rsdp", &bytes);
    CHECK(bytes == 36 && memcmp(root, "RSD PTR ", 8) == 0 && sum(root, 20) == 0 && sum(root, 36) == 0);
    uint64_t xsdt = get(root + 24, 8), kept = MEMORY - ACPI_SIZE;
    CHECK(xsdt >= kept && xsdt < MEMORY && memcmp(memory + xsdt, "XSDT", 4) == 0);
    uint64_t fadt = get(memory + xsdt + 36, 8), madt = get(memory + xsdt + 44, 8), dsdt = get(memory + fadt + 40, 4);
    uint64_t tables[] = {xsdt, fadt, madt, dsdt, get(memory + fadt + 132, 8)};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(tables[i] >= kept && tables[i] + get(memory + tables[i] + 4, 4) <= MEMORY);
        CHECK(i == 4 || sum(memory + tables[i], get(memory + tables[i] + 4, 4)) == 0);
    }
    uint64_t rsdt = get(root + 16, 4); /* the same tables by the older root */
    CHECK(rsdt >= kept && memcmp(memory + rsdt, "RSDT", 4) == 0 && sum(memory + rsdt, get(memory + rsdt + 4, 4)) == 0);
    CHECK(get(memory + rsdt + 36, 4) == fadt && get(memory + rsdt + 40, 4) == madt && get(memory + rsdt + 4, 4) == 44);
    const uint8_t *command = file("etc/table-loader", &bytes);
    CHECK(bytes == 128 && get(command, 4) == 1 && strcmp((const char *)command + 4, "etc/acpi/rsdp") == 0);
    CHECK(get(command + 60, 4) == 16 && command[64] == 2);
}

static void test_map(void)
{
    uint32_t bytes;
    const uint8_t *ranges = file("etc/e820", &bytes);
    CHECK(bytes == 40 && get(ranges, 8) == 0 && get(ranges + 8, 8) == MEMORY - ACPI_SIZE && get(ranges + 16, 4) == 1);
    CHECK(get(ranges + 20, 8) == MEMORY - ACPI_SIZE && get(ranges + 28, 8) == ACPI_SIZE && get(ranges + 36, 4) == 2);
    const uint8_t *port = file("etc/sercon-port", &bytes);
    CHECK(bytes == 2 && get(port, 2) == 0x3f8);
    fw_cfg_select(&fw_cfg, FW_CFG_PROCESSORS);
    CHECK(fw_cfg_read(&fw_cfg) == 2);
    CHECK(fw_cfg.items <= FW_CFG_ITEMS && fw_cfg.used <= FW_CFG_BYTES && fw_cfg.files == FILES);
}

static void test_place(uint64_t bytes, uint64_t low)
{
    uint8_t *memory = calloc(1, MEMORY);
    make(bytes);
    request.memory = memory;
    CHECK(firmware_check(&request) == 0);
    firmware_place(&request);
    firmware_tell(&request, &fw_cfg);
    CHECK(memcmp(memory + (1 << 20) - low, image + bytes - low, low) == 0);
    CHECK(sum(memory, (1 << 20) - low) == 0 && memory[(1 << 20) - low - 1] == 0 && memory[1 << 20] == 0);
    test_tables(memory);
    test_map();
    free(memory);
}

int main(void)
{
    test_faults();
    test_place(IMAGE, 0x20000);
    test_place(0x10000, 0x10000);
    return 0;
}
