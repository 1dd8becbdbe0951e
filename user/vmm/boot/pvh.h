/* Placing an ELF kernel that has a PVH entry: its segments go where it wants them, and it starts in 32-bit mode with a structure that
 * says where memory, command line, initial RAM disk and ACPI tables are (Xen's public header arch-x86/hvm/start_info.h). Pure code. */
#ifndef VMM_PVH_H
#define VMM_PVH_H

#include "boot/loader.h"

/* Is the file an ELF file at all? */
uint32_t pvh_is_elf(const struct load_request *request);
/* As loader_check() and loader_place(), for such files. */
const char *pvh_check(const struct load_request *request);
void pvh_place(const struct load_request *request, struct load_result *result);

#endif
