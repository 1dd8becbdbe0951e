/* The loader of ELF kernels with a PVH entry. Everything in the file is checked before it is used, by pvh_check(). */
#include "boot/pvh.h"

#include "ashlar/string.h"
#include "boot/memory_map.h"
#include "bytes.h"

#define CLASS 4u
#define CLASS_64 2u
#define MACHINE 18u
#define MACHINE_X86_64 62u
#define TABLE 32u
#define SEGMENT_BYTES 54u
#define SEGMENTS 56u
#define HEADER_BYTES 64u
#define SEGMENT 56u /* bytes */
#define SEGMENT_LOAD 1u
#define SEGMENT_NOTE 4u
#define NOTE_ENTRY 18u
#define NOTE_HEADER 12u

#define START_MAGIC 0x336ec578u
#define START_BYTES 56u
#define START_MODULES (MEMORY_START + 0x100)
#define START_MAP (MEMORY_START + 0x200)
#define MAP_ENTRY_BYTES 24u

struct elf_segment {
    uint32_t type;
    uint64_t offset, address, in_file, in_memory;
};

static struct elf_segment segment_at(const struct load_request *r, uint64_t index)
{
    const uint8_t *at = r->kernel + get(r->kernel + TABLE, 8) + index * SEGMENT;
    return (struct elf_segment){(uint32_t)get(at, 4), get(at + 8, 8), get(at + 24, 8), get(at + 32, 8),
                                get(at + 40, 8)};
}

static uint64_t num_segments(const struct load_request *r)
{
    return get(r->kernel + SEGMENTS, 2);
}

/* The entry that the notes name; 0 if there is none. */
static uint64_t entry_in(const uint8_t *notes, uint64_t bytes)
{
    uint64_t at = 0;
    while (bytes - at >= NOTE_HEADER) {
        uint64_t name = get(notes + at, 4), content = get(notes + at + 4, 4), type = get(notes + at + 8, 4);
        uint64_t padded = (name + 3) & ~3ul;
        at += NOTE_HEADER;
        if (padded > bytes - at || content > bytes - at - padded) {
            return 0;
        }
        if (type == NOTE_ENTRY && name == 4 && memcmp(notes + at, "Xen", 4) == 0 && (content == 4 || content == 8)) {
            return get(notes + at + padded, (uint32_t)content);
        }
        at += padded + ((content + 3) & ~3ul);
        if (at > bytes) {
            return 0;
        }
    }
    return 0;
}

/* Requires that the segments lie in the file. */
static uint64_t entry_of(const struct load_request *r)
{
    uint64_t entry = 0;
    for (uint64_t i = 0; i < num_segments(r) && entry == 0; i++) {
        struct elf_segment segment = segment_at(r, i);
        if (segment.type == SEGMENT_NOTE) {
            entry = entry_in(r->kernel + segment.offset, segment.in_file);
        }
    }
    return entry;
}

/* First byte past all segments. */
static uint64_t kernel_end(const struct load_request *r)
{
    uint64_t end = MEMORY_HIGH;
    for (uint64_t i = 0; i < num_segments(r); i++) {
        struct elf_segment segment = segment_at(r, i);
        if (segment.type == SEGMENT_LOAD && segment.address + segment.in_memory > end) {
            end = segment.address + segment.in_memory;
        }
    }
    return end;
}

/* At the top of the memory. Requires that it fits. */
static uint64_t ram_disk_address(const struct load_request *r)
{
    return (r->memory_size - r->initrd_size) & ~0xffful;
}

uint32_t pvh_is_elf(const struct load_request *r)
{
    return r->kernel_size >= HEADER_BYTES && memcmp(r->kernel,
                                                    "\x7f"
                                                    "ELF",
                                                    4) == 0;
}

static const char *check_segment(const struct load_request *r, const struct elf_segment *segment)
{
    if (segment->type != SEGMENT_LOAD && segment->type != SEGMENT_NOTE) {
        return 0;
    }
    if (segment->offset > r->kernel_size || segment->in_file > r->kernel_size - segment->offset) {
        return "the file is cut short: a segment lies beyond its end";
    }
    if (segment->type == SEGMENT_NOTE || segment->in_memory == 0) {
        return 0;
    }
    if (segment->in_file > segment->in_memory || segment->address < MEMORY_HIGH) {
        return "its header is damaged: a segment is in the first MiB, or larger in the file than in memory";
    }
    if (segment->address > r->memory_size || segment->in_memory > r->memory_size - segment->address) {
        return "the guest's memory is too small for it";
    }
    return 0;
}

const char *pvh_check(const struct load_request *r)
{
    uint64_t table = get(r->kernel + TABLE, 8), count = num_segments(r);
    if (r->kernel[CLASS] != CLASS_64 || get(r->kernel + MACHINE, 2) != MACHINE_X86_64) {
        return "it is not a 64-bit kernel";
    }
    if (get(r->kernel + SEGMENT_BYTES, 2) != SEGMENT || table > r->kernel_size ||
        count * SEGMENT > r->kernel_size - table) {
        return "its header is damaged: the segments are not in the file";
    }
    for (uint64_t i = 0; i < count; i++) {
        struct elf_segment segment = segment_at(r, i);
        const char *fault = check_segment(r, &segment);
        if (fault != 0) {
            return fault;
        }
    }
    uint64_t entry = entry_of(r);
    if (entry < MEMORY_HIGH || entry >= kernel_end(r)) {
        return "it has no PVH entry";
    }
    if (r->initrd_size > r->memory_size || ram_disk_address(r) < kernel_end(r)) {
        return "the guest's memory is too small for it and its initial RAM disk";
    }
    if (strlen(r->command_line) >= COMMAND_LINE_MAX) {
        return "the command line is longer than it accepts";
    }
    return 0;
}

static void place_start(const struct load_request *r)
{
    uint8_t *m = r->memory, *start = m + MEMORY_START;
    struct memory_range range[MEMORY_RANGES];
    put(start, START_MAGIC, 4);
    put(start + 4, 1, 4); /* version */
    put(start + 24, MEMORY_COMMAND_LINE, 8);
    put(start + 32, ACPI_BASE, 8);
    put(start + 40, START_MAP, 8);
    put(start + 48, MEMORY_RANGES, 4);
    if (r->initrd_size != 0) {
        put(start + 12, 1, 4); /* modules */
        put(start + 16, START_MODULES, 8);
        put(m + START_MODULES, ram_disk_address(r), 8);
        put(m + START_MODULES + 8, r->initrd_size, 8);
        memcpy(m + ram_disk_address(r), r->initrd, r->initrd_size);
    }
    memory_map(r->memory_size, range);
    for (uint32_t i = 0; i < MEMORY_RANGES; i++) {
        uint8_t *entry = m + START_MAP + i * MAP_ENTRY_BYTES;
        put(entry, range[i].from, 8);
        put(entry + 8, range[i].to - range[i].from, 8);
        put(entry + 16, range[i].type, 4);
    }
}

void pvh_place(const struct load_request *r, struct load_result *result)
{
    for (uint64_t i = 0; i < num_segments(r); i++) {
        struct elf_segment segment = segment_at(r, i);
        if (segment.type == SEGMENT_LOAD && segment.in_memory != 0) {
            memcpy(r->memory + segment.address, r->kernel + segment.offset, segment.in_file);
        }
    }
    memcpy(r->memory + MEMORY_COMMAND_LINE, r->command_line, strlen(r->command_line) + 1);
    place_start(r);
    acpi_build(r->memory + ACPI_BASE, ACPI_BASE, r->cpus, r->has_pci);
    *result = (struct load_result){.kind = START_32, .entry = entry_of(r), .argument = MEMORY_START};
}
