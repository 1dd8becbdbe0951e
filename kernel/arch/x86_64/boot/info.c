/* Boot information from PVH start information or Multiboot2 tags. */
#include "boot/info.h"

#include "boot/acpi.h"
#include "cpu/cpu.h"
#include "print.h"

struct boot_info boot_info;

#define FOUR_GIB 0x100000000ul

struct pvh_start {
    uint32_t magic;
    uint32_t version;
    uint32_t flags;
    uint32_t num_modules;
    uint64_t modules;
    uint64_t command_line;
    uint64_t rsdp;
    uint64_t memory_map; /* version 1 on */
    uint32_t num_ranges;
    uint32_t reserved;
};

struct pvh_module {
    uint64_t address;
    uint64_t size;
    uint64_t command_line;
    uint64_t reserved;
};

struct pvh_range {
    uint64_t base;
    uint64_t size;
    uint32_t type;
    uint32_t reserved;
};

#define PVH_MAGIC 0x336ec578u

struct tag {
    uint32_t type;
    uint32_t size;
};

struct tag_module {
    struct tag tag;
    uint32_t start;
    uint32_t end;
};

struct tag_memory {
    struct tag tag;
    uint32_t entry_size;
    uint32_t entry_version;
};

struct tag_range {
    uint64_t base;
    uint64_t size;
    uint32_t type;
    uint32_t reserved;
};

#define TAG_END 0u
#define TAG_MODULE 3u
#define TAG_MEMORY 6u
#define TAG_ACPI_OLD 14u
#define TAG_ACPI_NEW 15u

static void add_range(uint64_t base, uint64_t size, uint32_t type)
{
    if (boot_info.num_ranges == NUM_MEMORY_RANGE) {
        boot_fail("the firmware's memory map has more than %u entries; raise NUM_MEMORY_RANGE", NUM_MEMORY_RANGE);
    }
    boot_info.range[boot_info.num_ranges] = (struct memory_range){base, size, type};
    boot_info.num_ranges++;
}

static void read_pvh(uint64_t information)
{
    const struct pvh_start *start = direct(information);

    if (start->magic != PVH_MAGIC || start->version < 1 || start->memory_map >= FOUR_GIB ||
        start->modules >= FOUR_GIB) {
        boot_fail("the PVH start information is damaged or too old; use QEMU 4.0 or later");
    }
    const struct pvh_range *range = direct(start->memory_map);
    for (uint32_t i = 0; i < start->num_ranges; i++) {
        add_range(range[i].base, range[i].size, range[i].type);
    }
    if (start->num_modules > 0) {
        const struct pvh_module *module = direct(start->modules);
        boot_info.module = module->address;
        boot_info.module_size = module->size;
    }
    if (start->rsdp != 0 && start->rsdp < FOUR_GIB) {
        acpi_read_rsdp(direct(start->rsdp));
    }
}

static void read_memory_tag(const struct tag_memory *memory)
{
    const char *entry = (const char *)(memory + 1);
    const char *end = (const char *)memory + memory->tag.size;

    if (memory->entry_size < sizeof(struct tag_range)) {
        boot_fail("the loader's memory map is damaged");
    }
    for (; entry + memory->entry_size <= end; entry += memory->entry_size) {
        const struct tag_range *range = (const struct tag_range *)entry;
        add_range(range->base, range->size, range->type);
    }
}

static void read_multiboot2(uint64_t information)
{
    const char *start = direct(information);
    const char *end = start + *(const uint32_t *)start;

    for (const char *at = start + 8; at + sizeof(struct tag) <= end;) {
        const struct tag *tag = (const struct tag *)at;
        if (tag->type == TAG_END || tag->size < sizeof *tag) {
            break;
        }
        if (tag->type == TAG_MODULE && boot_info.module_size == 0) {
            const struct tag_module *module = (const struct tag_module *)tag;
            boot_info.module = module->start;
            boot_info.module_size = module->end - module->start;
        } else if (tag->type == TAG_MEMORY) {
            read_memory_tag((const struct tag_memory *)tag);
        } else if (tag->type == TAG_ACPI_OLD || tag->type == TAG_ACPI_NEW) {
            acpi_read_rsdp(tag + 1);
        }
        at += (tag->size + 7u) & ~7u;
    }
}

void boot_info_read(uint32_t loader, uint64_t information)
{
    if (loader == LOADER_PVH) {
        read_pvh(information);
    } else {
        read_multiboot2(information);
    }
    if (boot_info.num_ranges == 0) {
        boot_fail("the loader passed no memory map; use GRUB's multiboot2 command or QEMU's -kernel");
    }
}
