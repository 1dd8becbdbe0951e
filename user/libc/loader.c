/* Starting a child. The kernel copies only pages that the caller owns, so each page of the file goes through one
 * page of ours; a process therefore loads one child at a time. */
#include "ashlar/loader.h"

#include "ashlar/elf.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

static uint8_t bounce[PAGE_SIZE] __attribute__((aligned(4096)));

static uint32_t copy_segment(uint32_t slot, const struct elf_segment *segment)
{
    for (uint64_t i = 0; i < segment->pages; i++) {
        elf_page(segment, i, bounce);
        uint32_t status = sys_process_copy(slot, segment->address + i * PAGE_SIZE, (uint64_t)bounce, segment->prot);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

uint32_t loader_start(uint32_t slot, const void *file, uint64_t size, uint64_t argument)
{
    struct elf_image image;
    if (elf_parse(file, size, &image) != 0) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t status = sys_process_create(slot);
    if (status != STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < image.num_segments && status == STATUS_OK; i++) {
        status = copy_segment(slot, &image.segment[i]);
    }
    const struct elf_segment stack = {
        .address = LOADER_STACK_TOP - LOADER_STACK_PAGES * PAGE_SIZE,
        .pages = LOADER_STACK_PAGES,
        .prot = PROT_READ | PROT_WRITE,
    };
    if (status == STATUS_OK) {
        status = copy_segment(slot, &stack);
    }
    if (status == STATUS_OK) {
        status = sys_process_start(slot, image.entry, LOADER_STACK_TOP, argument);
    }
    if (status != STATUS_OK) {
        sys_process_kill(slot);
    }
    return status;
}
