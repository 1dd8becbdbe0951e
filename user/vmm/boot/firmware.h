/* A guest that starts as a PC does: by a firmware, which finds the disk and starts what is on it. The firmware is an image of a BIOS as
 * QEMU takes them, such as SeaBIOS for its machine `microvm`, which looks for virtio devices in the ACPI tables. It lies at the end
 * of the first 4 GiB, where it can only be read, and its last 128 KiB also at the end of the first MiB, where it may write: it has its
 * variables there. Pure code: works on any buffer. */
#ifndef VMM_FIRMWARE_H
#define VMM_FIRMWARE_H

#include "boot/loader.h"
#include "devices/fw_cfg.h"

#define FIRMWARE_END (1ul << 32) /* guest-physical */
#define FIRMWARE_MOST (1ul << 20)

/* Checks the image and the memory; writes nothing. Returns null, or what is wrong. */
const char *firmware_check(const struct load_request *request);
/* Places the lower copy and the ACPI tables in guest memory, which is all zero. Requires that firmware_check() found nothing. */
void firmware_place(const struct load_request *request);
/* What the firmware is told about the machine. */
void firmware_tell(const struct load_request *request, struct fw_cfg *fw_cfg);

#endif
