/* ELF files: a checked view of a static 64-bit x86 executable. Pure code, tested on the host. */
#ifndef ASHLAR_ELF_H
#define ASHLAR_ELF_H

#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS 8u

struct elf_segment {
    uint64_t address; /* page aligned */
    uint64_t pages;
    const uint8_t *data; /* file bytes, which begin `skip` bytes into the first page */
    uint64_t skip;
    uint64_t data_size;
    uint32_t prot; /* PROT_* */
};

struct elf_image {
    uint64_t entry;
    uint32_t num_segments;
    struct elf_segment segment[ELF_MAX_SEGMENTS];
};

/* Checks the file completely before anything is done with it. Returns null, or what is wrong with the file. */
const char *elf_parse(const void *file, uint64_t size, struct elf_image *image);

/* The contents of page `index` of a segment: file bytes where it has them, zeros elsewhere. */
void elf_page(const struct elf_segment *segment, uint64_t index, void *page);

#endif
