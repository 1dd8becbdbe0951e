/* The loader of ELF kernels on a made-up one: where everything comes to lie, every fault a file can have, random damage. */
#include "../boot/pvh.c"

#include "../boot/acpi.c"

#include <stdlib.h>

#include "../../libc/tests/check.h"

#define MEMORY (16ul << 20)
#define FIRST 64u
#define SECOND (64u + 56u)
#define NOTES 0x200u

static uint8_t file[0x3000];
static struct load_request request;

static void make_segment(uint32_t at, uint32_t type, uint64_t offset, uint64_t address, uint64_t in_file,
                         uint64_t in_memory)
{
    put(file + at, type, 4);
    put(file + at + 8, offset, 8);
    put(file + at + 24, address, 8);
    put(file + at + 32, in_file, 8);
    put(file + at + 40, in_memory, 8);
}

static void make(void)
{
    memset(file, 0, sizeof file);
    for (unsigned i = 0x1000; i < sizeof file; i++) {
        file[i] = (uint8_t)(i * 7 + i / 256);
    }
    memcpy(file, "\177ELF", 4);
    file[CLASS] = CLASS_64;
    file[MACHINE] = MACHINE_X86_64;
    file[TABLE] = FIRST;
    file[SEGMENT_BYTES] = SEGMENT;
    file[SEGMENTS] = 2;
    make_segment(FIRST, SEGMENT_LOAD, 0x1000, 0x200000, 0x2000, 0x5000);
    make_segment(SECOND, SEGMENT_NOTE, NOTES, 0, 44, 44);
    put(file + NOTES, 7, 4); /* a note of another's */
    put(file + NOTES + 4, 3, 4);
    put(file + NOTES + 8, NOTE_ENTRY, 4);
    put(file + NOTES + 24, 4, 4);
    put(file + NOTES + 28, 4, 4);
    put(file + NOTES + 32, NOTE_ENTRY, 4);
    memcpy(file + NOTES + 36, "Xen", 4);
    put(file + NOTES + 40, 0x200010, 4);
    request.kernel = file;
    request.kernel_size = sizeof file;
    request.memory_size = MEMORY;
    request.initrd_size = 5000;
    request.command_line = "a=b";
    request.cpus = 3;
}

#define FAULT(change)                                                                                                  \
    do {                                                                                                               \
        make();                                                                                                        \
        change;                                                                                                        \
        CHECK(pvh_is_elf(&request) == 0 || pvh_check(&request) != 0);                                                  \
    } while (0)

static void places(uint8_t *memory)
{
    static uint8_t initrd[5000];
    struct load_result result;
    memset(initrd, 'i', sizeof initrd);
    make();
    request.memory = memory;
    request.initrd = initrd;
    CHECK(pvh_is_elf(&request) && pvh_check(&request) == 0);
    pvh_place(&request, &result);
    CHECK(result.kind == START_32 && result.entry == 0x200010 && memcmp(memory + 0x200000, file + 0x1000, 0x2000) == 0);
    const uint8_t *start = memory + result.argument;
    CHECK(get(start, 4) == START_MAGIC && strcmp((char *)memory + get(start + 24, 8), "a=b") == 0);
    const uint8_t *module = memory + get(start + 16, 8);
    CHECK(get(start + 12, 4) == 1 && get(module + 8, 8) == 5000 && memcmp(memory + get(module, 8), initrd, 5000) == 0);
    uint64_t end = 0; /* the memory map has no gap and ends with the memory */
    for (uint64_t i = 0; i < get(start + 48, 4); i++) {
        const uint8_t *entry = memory + get(start + 40, 8) + 24 * i;
        CHECK(get(entry, 8) == end);
        end += get(entry + 8, 8);
    }
    CHECK(end == MEMORY && memcmp(memory + get(start + 32, 8), "RSD PTR ", 8) == 0);
    const uint8_t *madt = memory + ACPI_BASE + MADT; /* three local controllers, one for devices, two lines */
    CHECK(get(madt + 4, 4) == 44 + 3 * 8 + 12 + 2 * 10 && madt[44 + 16 + 3] == 2 && madt[68] == 1);
    CHECK(get(madt + 72, 4) == IOAPIC_ADDRESS);
}

int main(void)
{
    uint8_t *memory = calloc(1, MEMORY);
    places(memory);
    FAULT(request.kernel_size = 63);
    FAULT(file[0] = 0);
    FAULT(file[CLASS] = 1);
    FAULT(file[MACHINE] = 3);
    FAULT(file[SEGMENT_BYTES] = 32);
    FAULT(put(file + TABLE, ~0ul, 8));
    FAULT(put(file + TABLE, sizeof file - 64, 8));
    FAULT(put(file + SEGMENTS, 0xffff, 2));
    FAULT(put(file + SEGMENTS, 1, 2)); /* no note */
    FAULT(file[NOTES + 36] = 'Y');
    FAULT(put(file + NOTES + 4, ~0u, 4));
    FAULT(put(file + NOTES + 40, 0x1000, 4)); /* an entry outside */
    FAULT(put(file + NOTES + 40, 0x205000, 4));
    FAULT(put(file + FIRST + 8, ~0ul, 8));
    FAULT(put(file + FIRST + 24, 0x1000, 8));
    FAULT(put(file + FIRST + 24, ~0ul - 0x1000, 8));
    FAULT(put(file + FIRST + 24, MEMORY - 0x4000, 8));
    FAULT(put(file + FIRST + 32, 0x6000, 8));
    FAULT(put(file + FIRST + 40, ~0ul, 8));
    FAULT(put(file + SECOND + 32, 0x3000, 8));
    FAULT(request.initrd_size = ~0ul);
    FAULT(request.initrd_size = MEMORY - 0x200000);
    for (unsigned i = 0; i < 20000; i++) { /* what the check lets through can be placed without leaving the memory */
        struct load_result result;
        make();
        for (unsigned k = 0; k < 3; k++) {
            unsigned at = (unsigned)rand() % 4 == 0 ? NOTES + (unsigned)rand() % 44 : (unsigned)rand() % 176;
            file[at] = (uint8_t)rand();
        }
        request.initrd_size = 100;
        if (pvh_is_elf(&request) && pvh_check(&request) == 0 && i % 64 == 0) {
            pvh_place(&request, &result);
        }
    }
    free(memory);
    return 0;
}
