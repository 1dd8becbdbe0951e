/* The kernel loader on a made-up bzImage: the good case byte by byte, every fault a file can have, random damage. */
#include "../boot/loader.c"

#include "../boot/acpi.c"
#include "../boot/firmware.c"
#include "../boot/pvh.c"
#include "../devices/fw_cfg.c"

#include <stdlib.h>

#include "../../libc/tests/check.h"

#define MEMORY (64ul << 20)
#define BODY 65536u

static uint8_t file[1024 + 512 * 3 + BODY];
static struct load_request request;

static void make(void)
{
    memset(file, 0, sizeof file);
    for (unsigned i = 0; i < BODY; i++) {
        file[512 * 5 + i] = (uint8_t)(i * 7 + i / 256);
    }
    file[SETUP_SECTS] = 4;
    put(file + SYSSIZE, BODY / 16, 4);
    put(file + BOOT_FLAG, 0xaa55, 2);
    file[HEADER_LENGTH] = 0x6a;
    put(file + HEADER_MAGIC, 0x53726448, 4);
    put(file + VERSION, 0x20f, 2);
    put(file + INITRD_ADDR_MAX, 0x7fffffff, 4);
    put(file + KERNEL_ALIGNMENT, 0x200000, 4);
    file[RELOCATABLE] = 1;
    put(file + XLOADFLAGS, 0x3f, 2);
    put(file + CMDLINE_SIZE, 2047, 4);
    put(file + PAYLOAD_OFFSET, 0x300, 4);
    put(file + PAYLOAD_LENGTH, 0x8000, 4);
    put(file + PREF_ADDRESS, 0x1000000, 8);
    put(file + INIT_SIZE, 0x2000000, 4);
    request.kernel = file;
    request.kernel_size = sizeof file;
    request.memory_size = MEMORY;
    request.initrd_size = 5000;
    request.command_line = "console=ttyS0";
    request.cpus = 1;
}

#define FAULT(change)                                                                                                  \
    do {                                                                                                               \
        make();                                                                                                        \
        change;                                                                                                        \
        CHECK(loader_check(&request) != 0);                                                                            \
    } while (0)

static void test_good(uint8_t *memory)
{
    static uint8_t initrd[5000];
    struct load_result result;
    memset(initrd, 'i', sizeof initrd);
    make();
    request.memory = memory;
    request.initrd = initrd;
    CHECK(loader_check(&request) == 0);
    loader_place(&request, &result);
    CHECK(result.entry == 0x1000200 && memcmp(memory + 0x1000000, file + 2560, BODY) == 0);
    const uint8_t *zero_page = memory + result.argument;
    CHECK(get(zero_page + HEADER_MAGIC, 4) == 0x53726448 && zero_page[TYPE_OF_LOADER] == 0xff);
    uint64_t at = get(zero_page + RAMDISK_IMAGE, 4);
    CHECK(get(zero_page + RAMDISK_SIZE, 4) == 5000 && at % 4096 == 0 && memcmp(memory + at, initrd, 5000) == 0);
    CHECK(strcmp((char *)memory + get(zero_page + CMD_LINE_PTR, 4), "console=ttyS0") == 0);

    uint64_t end = 0; /* the memory map has no gap and ends with the memory */
    for (unsigned i = 0; i < zero_page[ZERO_PAGE_E820_COUNT]; i++) {
        const uint8_t *entry = zero_page + ZERO_PAGE_E820 + 20 * i;
        CHECK(get(entry, 8) == end);
        end += get(entry + 8, 8);
    }
    CHECK(end == MEMORY);

    for (uint64_t address = 0x123456; address < 1ul << 32; address += 0x3217654) { /* identity map */
        uint64_t entry = get(memory + result.page_tables, 8) & ~0xffful;
        entry = get(memory + entry + 8 * (address >> 30), 8) & ~0xffful;
        entry = get(memory + entry + 8 * (address >> 21 & 511), 8);
        CHECK((entry & ~0xffful) == (address & ~0x1ffffful) && (entry & 0x83) == 0x83);
    }

    const uint8_t *rsdp = memory + get(zero_page + ZERO_PAGE_RSDP, 8);
    CHECK(memcmp(rsdp, "RSD PTR ", 8) == 0);
    const uint8_t *tables[4] = {memory + get(rsdp + 24, 8), 0, 0, 0};
    tables[1] = memory + get(tables[0] + 36, 8);
    tables[2] = memory + get(tables[1] + 140, 8);
    tables[3] = memory + get(tables[0] + 44, 8);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t sum = 0;
        for (uint64_t k = 0; k < get(tables[i] + 4, 4); k++) {
            sum = (uint8_t)(sum + tables[i][k]);
        }
        CHECK(sum == 0);
    }
    CHECK(memcmp(tables[0], "XSDT", 4) == 0 && memcmp(tables[1], "FACP", 4) == 0 && memcmp(tables[2], "DSDT", 4) == 0);
    CHECK(memcmp(tables[3], "APIC", 4) == 0);
}

int main(void)
{
    uint8_t *memory = calloc(1, MEMORY);
    test_good(memory);

    FAULT(request.kernel_size = 100);
    FAULT(file[BOOT_FLAG] = 0);
    FAULT(file[HEADER_MAGIC] = 0);
    FAULT(put(file + VERSION, 0x20b, 2));
    FAULT(file[HEADER_LENGTH] = 0x10);
    FAULT(file[XLOADFLAGS] = 0);
    FAULT(request.kernel_size = sizeof file - 16);
    FAULT(put(file + SYSSIZE, 0x10000000, 4));
    FAULT(put(file + SYSSIZE, 1, 4));
    FAULT(put(file + PAYLOAD_OFFSET, 0xffffffff, 4));
    FAULT(put(file + PAYLOAD_LENGTH, BODY, 4));
    FAULT(put(file + KERNEL_ALIGNMENT, 3, 4));
    FAULT(put(file + PREF_ADDRESS, 0x1000, 8));
    FAULT(put(file + PREF_ADDRESS, 0xffffffffffe00000ul, 8));
    FAULT(put(file + INIT_SIZE, 16, 4));
    FAULT(request.memory_size = 40ul << 20);
    FAULT(request.initrd_size = 60ul << 20);
    FAULT(request.initrd_size = ~0ul);
    FAULT(put(file + CMDLINE_SIZE, 5, 4));

    FAULT(put(file + PAYLOAD_LENGTH, 63, 4));
    FAULT(put(file + PAYLOAD_LENGTH, 0, 4));

    make(); /* a program that is not Linux has no packed kernel */
    put(file + PAYLOAD_OFFSET, 0, 4);
    put(file + PAYLOAD_LENGTH, 0, 4);
    CHECK(loader_check(&request) == 0);

    make();
    request.kernel_size = sizeof file - 15; /* less than the rounding of the header's size */
    CHECK(loader_check(&request) == 0);

    for (unsigned i = 0; i < 20000; i++) { /* what the check lets through can be placed without leaving the memory */
        struct load_result result;
        make();
        for (unsigned k = 0; k < 3; k++) {
            file[HEADER_BEGIN + (unsigned)rand() % 0x80] = (uint8_t)rand();
        }
        request.memory_size = MEMORY;
        request.initrd_size = 100;
        if (loader_check(&request) == 0 && i < 300) {
            loader_place(&request, &result);
        }
    }
    free(memory);
    return 0;
}
