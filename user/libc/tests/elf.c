/* The ELF view: a good file, each single fault, every truncation, and a million bytes damaged at random. */
#include "../elf.c"

#include <string.h>

#include "check.h"

static uint8_t file[3 * 4096];
static struct file_header header;
static struct program_header program[3];

static void make(void)
{
    memset(file, 0, sizeof file);
    header = (struct file_header){.ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
                                  .type = 2,
                                  .machine = 62,
                                  .entry = 0x400010,
                                  .phoff = 64,
                                  .phentsize = 56,
                                  .phnum = 3};
    program[0] = (struct program_header){1, 5, 0x1000, 0x400000, 0, 0x100, 0x100, 0x1000};
    program[1] = (struct program_header){1, 6, 0x1ff0, 0x402ff0, 0, 0x20, 0x2000, 0x1000};
    program[2] = (struct program_header){0x6474e551, 6, 0, 0, 0, 0, 0, 16};
    for (unsigned i = 0; i < 0x1000; i++) {
        file[0x1ff0 + i] = (uint8_t)(i + 1);
    }
}

static const char *parse(struct elf_image *image)
{
    memcpy(file, &header, sizeof header);
    memcpy(file + 64, program, sizeof program);
    return elf_parse(file, sizeof file, image);
}

#define FAULT(change)                                                                                                  \
    do {                                                                                                               \
        make();                                                                                                        \
        change;                                                                                                        \
        CHECK(parse(&image) != 0);                                                                                     \
    } while (0)

int main(void)
{
    struct elf_image image;
    make();
    CHECK(parse(&image) == 0);
    CHECK(image.entry == 0x400010 && image.num_segments == 2);
    CHECK(image.segment[0].prot == (PROT_READ | PROT_EXEC) && image.segment[0].pages == 1);
    CHECK(image.segment[1].address == 0x402000 && image.segment[1].skip == 0xff0 && image.segment[1].pages == 3);

    uint8_t page[4096];
    elf_page(&image.segment[1], 0, page);
    CHECK(page[0] == 0 && page[0xfef] == 0 && page[0xff0] == 1 && page[0xfff] == 16);
    elf_page(&image.segment[1], 1, page);
    CHECK(page[0] == 17 && page[15] == 32 && page[16] == 0 && page[4095] == 0);
    elf_page(&image.segment[1], 2, page);
    CHECK(page[0] == 0 && page[4095] == 0);

    FAULT(header.ident[0] = 0);
    FAULT(header.ident[4] = 1);
    FAULT(header.type = 3);
    FAULT(header.machine = 3);
    FAULT(header.phnum = 60000);
    FAULT(header.phoff = ~0ul);
    FAULT(header.phentsize = 55);
    FAULT(header.entry = 0x402ff0);
    FAULT(program[0].offset = ~0ul);
    FAULT(program[0].filesz = 0x10000);
    FAULT(program[0].memsz = 1);
    FAULT(program[0].flags = 7);
    FAULT(program[0].vaddr = 0);
    FAULT(program[0].vaddr = USER_END);
    FAULT(program[0].memsz = ~0ul);
    FAULT(program[1].vaddr = 0x400800);
    FAULT(program[2].type = 3);
    FAULT(program[2].type = 2);

    make();
    CHECK(parse(&image) == 0);
    for (uint64_t size = 0; size < sizeof file; size += size < 256 ? 1 : 97) {
        uint8_t *exact = malloc(size + 1); /* the sanitizer sees a read past the size */
        memcpy(exact, file, size);
        const char *fault = elf_parse(exact, size, &image);
        CHECK(size >= 0x1ff0 + 0x20 || fault != 0);
        free(exact);
    }
    for (unsigned i = 0; i < 200000; i++) {
        make();
        parse(&image);
        for (unsigned k = 0; k < 5; k++) {
            file[(unsigned)rand() % 232] = (uint8_t)rand();
        }
        if (elf_parse(file, sizeof file, &image) == 0) { /* what is accepted can be read safely */
            for (uint32_t s = 0; s < image.num_segments; s++) {
                elf_page(&image.segment[s], 0, page);
                elf_page(&image.segment[s], image.segment[s].pages - 1, page);
            }
        }
    }
    return 0;
}
