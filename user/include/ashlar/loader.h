/* Starting a child process from an ELF file. */
#ifndef ASHLAR_LOADER_H
#define ASHLAR_LOADER_H

#include <stdint.h>

#define LOADER_STACK_PAGES 16u
#define LOADER_STACK_TOP 0x00005ffffff00000ul

/* Creates the child that grant `slot` names, copies the file's segments and a stack into it and starts it with
 * `argument`. On any error the child is killed again, so nothing of it stays, and the error is returned;
 * ERR_BAD_ARGUMENT if the file is not a valid executable (elf_parse() says why). */
uint32_t loader_start(uint32_t slot, const void *file, uint64_t size, uint64_t argument);

#endif
