/* The boot table of the system image, once verified. */
#ifndef ASHLAR_BOOT_TABLE_READ_H
#define ASHLAR_BOOT_TABLE_READ_H

#include <stdint.h>

#include "boot_table.h"

/* Verifies the image the loader passed: magic, version, sizes, checksums, then every entry on its own and against the
 * others. Ends the run with the reason if anything is wrong. */
void table_verify(void);

const struct boot_header *table_header(void);
uint32_t table_count(enum boot_section_index section);
const struct boot_cpu *table_cpu(uint32_t i);
const struct boot_process *table_process(uint32_t i);
const struct boot_thread *table_thread(uint32_t i);
const struct boot_segment *table_segment(uint32_t i);
const struct boot_grant *table_grant(uint32_t i);
const struct boot_endpoint *table_endpoint(uint32_t i);
const struct boot_notification *table_notification(uint32_t i);
const struct boot_buffer *table_buffer(uint32_t i);
const struct boot_share *table_share(uint32_t i);
const struct boot_irq *table_irq(uint32_t i);
const struct boot_device *table_device(uint32_t i);
const struct boot_vm *table_vm(uint32_t i);
const struct boot_console *table_console(uint32_t i);

/* 1 if some process may tell a device addresses of memory, else 0. */
uint32_t table_uses_dma(void);

#endif
