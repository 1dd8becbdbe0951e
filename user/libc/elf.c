/* A checked view of an ELF executable. Every offset is compared with the file's size before it is used. */
#include "ashlar/elf.h"

#include "abi.h"
#include "ashlar/string.h"

#define PAGE 4096ul

struct file_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct program_header {
    uint32_t type, flags;
    uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

#define PT_LOAD 1u
#define PT_DYNAMIC 2u
#define PT_INTERP 3u
#define PF_X 1u
#define PF_W 2u

static const char *add_segment(const struct program_header *header, const uint8_t *file, uint64_t size,
                               struct elf_image *image)
{
    if (header->offset > size || header->filesz > size - header->offset) {
        return "a segment reaches beyond the end of the file";
    }
    if (header->memsz < header->filesz) {
        return "a segment is larger in the file than in memory";
    }
    if (header->vaddr < USER_BASE || header->vaddr >= USER_END || header->memsz > USER_END - header->vaddr) {
        return "a segment lies outside the user address space";
    }
    if ((header->flags & PF_X) != 0 && (header->flags & PF_W) != 0) {
        return "a segment is both writable and executable";
    }
    if (image->num_segments == ELF_MAX_SEGMENTS) {
        return "too many segments";
    }
    struct elf_segment *segment = &image->segment[image->num_segments];
    segment->skip = header->vaddr % PAGE;
    segment->address = header->vaddr - segment->skip;
    segment->pages = (segment->skip + header->memsz + PAGE - 1) / PAGE;
    segment->data = file + header->offset;
    segment->data_size = header->filesz;
    segment->prot =
        PROT_READ | ((header->flags & PF_W) != 0 ? PROT_WRITE : 0u) | ((header->flags & PF_X) != 0 ? PROT_EXEC : 0u);
    for (uint32_t i = 0; i < image->num_segments; i++) {
        const struct elf_segment *other = &image->segment[i];
        if (segment->address < other->address + other->pages * PAGE &&
            other->address < segment->address + segment->pages * PAGE) {
            return "two segments share a page";
        }
    }
    image->num_segments++;
    return 0;
}

const char *elf_parse(const void *file, uint64_t size, struct elf_image *image)
{
    static const uint8_t ident[6] = {0x7f, 'E', 'L', 'F', 2, 1};
    struct file_header header;
    if (size < sizeof header) {
        return "the file is shorter than an ELF header";
    }
    memcpy(&header, file, sizeof header);
    if (memcmp(header.ident, ident, sizeof ident) != 0) {
        return "not a 64-bit little-endian ELF file";
    }
    if (header.type != 2 || header.machine != 62) {
        return "not an x86-64 executable with fixed addresses";
    }
    if (header.phentsize != sizeof(struct program_header) || header.phoff > size ||
        header.phnum > (size - header.phoff) / sizeof(struct program_header)) {
        return "the program headers reach beyond the end of the file";
    }
    image->entry = header.entry;
    image->num_segments = 0;
    for (uint32_t i = 0; i < header.phnum; i++) {
        struct program_header program;
        memcpy(&program, (const uint8_t *)file + header.phoff + i * sizeof program, sizeof program);
        if (program.type == PT_INTERP || program.type == PT_DYNAMIC) {
            return "the program is dynamically linked";
        }
        if (program.type != PT_LOAD || program.memsz == 0) {
            continue;
        }
        const char *fault = add_segment(&program, file, size, image);
        if (fault != 0) {
            return fault;
        }
    }
    for (uint32_t i = 0; i < image->num_segments; i++) {
        const struct elf_segment *segment = &image->segment[i];
        if ((segment->prot & PROT_EXEC) != 0 && header.entry >= segment->address &&
            header.entry < segment->address + segment->pages * PAGE) {
            return 0;
        }
    }
    return "the entry is in no executable segment";
}

void elf_page(const struct elf_segment *segment, uint64_t index, void *page)
{
    uint64_t begin = index * PAGE; /* bytes from segment->address */
    uint64_t first = begin > segment->skip ? begin : segment->skip;
    uint64_t last = segment->skip + segment->data_size; /* one past the file bytes */
    memset(page, 0, PAGE);
    if (last > begin + PAGE) {
        last = begin + PAGE;
    }
    if (first < last) {
        memcpy((uint8_t *)page + (first - begin), segment->data + (first - segment->skip), last - first);
    }
}
