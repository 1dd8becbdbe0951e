/* Of the ACPI tables the firmware gets the root pointer only, which it puts where systems look for it. The tables themselves lie in
 * the last page of the guest's memory from the beginning; so none of their pointers has to be changed by the firmware. */
#include "boot/firmware.h"

#include "ashlar/string.h"
#include "boot/acpi.h"
#include "boot/memory_map.h"
#include "bytes.h"

#define PAGE 4096ul
#define LOW_MOST 0x20000ul /* of the copy below 1 MiB */
#define ENTRY_JUMP 0xeau   /* of what lies 16 bytes before the end: a far jump, five bytes */
#define LEAST_MEMORY (4ul << 20)

#define SERIAL_PORT 0x3f8u
#define RANGE_BYTES 20u
#define RANGES 2u

/* A command to the firmware: room for a file, in the segment that begins at 0xf0000, 16 bytes aligned, and the file there. */
#define COMMAND_BYTES 128u
#define COMMAND_PLACE 1u
#define COMMAND_FILE 4u
#define COMMAND_ALIGNMENT 60u
#define COMMAND_ZONE 64u
#define ZONE_LOW 2u

#define FILE_ROOT "etc/acpi/rsdp"
#define FILES 4u

static uint64_t tables_at(const struct load_request *r)
{
    return r->memory_size - ACPI_SIZE;
}

const char *firmware_check(const struct load_request *r)
{
    if (r->firmware_size < PAGE || r->firmware_size > FIRMWARE_MOST || r->firmware_size % PAGE != 0) {
        return "it is no firmware: its size is not whole pages, at most 1 MiB";
    }
    if (r->firmware[r->firmware_size - 16] != ENTRY_JUMP) {
        return "it is no firmware: there is no jump 16 bytes before its end";
    }
    return r->memory_size < LEAST_MEMORY ? "the guest's memory is too small for it" : 0;
}

void firmware_place(const struct load_request *r)
{
    uint64_t low = r->firmware_size < LOW_MOST ? r->firmware_size : LOW_MOST;
    memcpy(r->memory + MEMORY_HIGH - low, r->firmware + r->firmware_size - low, low);
    acpi_build(r->memory + tables_at(r), tables_at(r), r->cpus, r->has_pci);
}

static void put_range(uint8_t *to, uint64_t from, uint64_t bytes, uint32_t type)
{
    put(to, from, 8);
    put(to + 8, bytes, 8);
    put(to + 16, type, 4);
}

void firmware_tell(const struct load_request *r, struct fw_cfg *f)
{
    uint8_t processors[2], no_menu[2] = {0, 0}, port[2], ranges[RANGES * RANGE_BYTES], command[COMMAND_BYTES] = {0};
    fw_cfg_init(f, FILES);
    put(processors, r->cpus, 2);
    fw_cfg_add(f, FW_CFG_PROCESSORS, processors, sizeof processors);
    fw_cfg_add(f, FW_CFG_PROCESSORS_MOST, processors, sizeof processors);
    fw_cfg_add(f, FW_CFG_BOOT_MENU, no_menu, sizeof no_menu); /* nor the wait for a key */

    put_range(ranges, 0, tables_at(r), MEMORY_RAM);
    put_range(ranges + RANGE_BYTES, tables_at(r), ACPI_SIZE, MEMORY_RESERVED); /* it passes nothing else on */
    fw_cfg_add_file(f, "etc/e820", ranges, sizeof ranges);

    put(port, SERIAL_PORT, 2);
    fw_cfg_add_file(f, "etc/sercon-port", port, sizeof port);

    fw_cfg_add_file(f, FILE_ROOT, r->memory + tables_at(r), ACPI_ROOT_BYTES);
    put(command, COMMAND_PLACE, 4);
    memcpy(command + COMMAND_FILE, FILE_ROOT, sizeof FILE_ROOT);
    put(command + COMMAND_ALIGNMENT, 16, 4);
    command[COMMAND_ZONE] = ZONE_LOW;
    fw_cfg_add_file(f, "etc/table-loader", command, sizeof command);
}
