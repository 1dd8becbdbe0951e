/* Placing a kernel, its initial RAM disk and the boot parameters in guest memory: a bzImage by Linux' 64-bit boot protocol
 * (Documentation/x86/boot.rst of the kernel), an ELF file by the PVH protocol (pvh.h); or a firmware (firmware.h). Pure code: works on
 * any buffer. */
#ifndef VMM_LOADER_H
#define VMM_LOADER_H

#include <stdint.h>

struct load_request {
    uint8_t *memory; /* guest memory from guest-physical 0, all zero */
    uint64_t memory_size;
    const uint8_t *firmware;
    uint64_t firmware_size; /* 0: a kernel is started; else there is none */
    const uint8_t *kernel;
    uint64_t kernel_size;
    const uint8_t *initrd; /* may be null */
    uint64_t initrd_size;
    const char *command_line;
    uint32_t cpus;    /* virtual CPUs */
    uint32_t has_pci; /* 1: it has a PCI bus */
};

enum start_kind {
    START_64,
    START_32,   /* without paging; it has neither tables nor descriptors */
    START_RESET /* as a processor starts; there is nothing else to say */
};

struct load_result {
    enum start_kind kind;
    uint64_t entry;       /* rip */
    uint64_t page_tables; /* cr3: identity map of the first 4 GiB */
    uint64_t gdt;
    uint64_t argument; /* rsi: the zero page; of a 32-bit start rbx: the start information */
};

/* Checks the file; writes nothing. Returns null, or what is wrong with it. */
const char *loader_check(const struct load_request *request);

/* Places everything. Requires that loader_check() found nothing. */
void loader_place(const struct load_request *request, struct load_result *result);

#endif
