/* Address translation tables of devices and of guests: trees of tables of 512 entries, from an address to a leaf that
 * names a page. They grow and shrink by one table a call, so that an interrupt waits for one at most; tables_room is to
 * be asked for all that are missing before the first is made. An entry of 0 is none: hardware that walks the tables
 * meanwhile finds the leaf or nothing. Tables are charged to a process.
 *
 * No lock of its own: the lock that guards the root guards the tree. */
#ifndef ASHLAR_TABLES_H
#define ASHLAR_TABLES_H

#include <stdint.h>

#include "config.h"

/* For whom: how entries look, and whether the hardware sees what is only in this CPU's caches. */
#define TABLES_DEVICE 0u
#define TABLES_GUEST 1u

/* What tables_drop returns when the tree is gone. No tree has so high an address. */
#define TABLES_GONE 0xfffffffffffffffful

/* All functions require: kind is TABLES_DEVICE or TABLES_GUEST, p < NUM_PROCESS, levels 2 to 4, the tree has so many levels
 * of tables and is guarded by the caller, address < 2^(12 + 9 * levels). Level 0 holds the leaves. */

/* STATUS_OK if so many tables can be made for p now, else ERR_QUOTA or ERR_NO_MEMORY. */
uint32_t tables_room(uint32_t p, uint32_t count);

/* An empty table, charged to p: its frame, FRAME_NO_QUOTA or NONE (no memory is left). */
uint32_t tables_new(uint32_t p);

/* The error of a system call for a failure value of tables_new. */
uint32_t tables_error(uint32_t refused);

/* How many tables are missing on the way to address. */
uint32_t tables_missing(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address);

/* Makes an empty table that the hardware sees the highest one of those that are missing. Requires: some are. */
void tables_link(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address, uint32_t fresh);

/* The leaf for address, 0 if there is none. */
uint64_t tables_leaf(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address);

/* Stores a leaf, or 0. Requires: no table is missing. */
void tables_store(uint32_t kind, uint32_t root, uint32_t levels, uint64_t address, uint64_t leaf);

/* One step of freeing a tree, which begins with cursor 0: frees at most one table. Returns the cursor of the next step,
 * or TABLES_GONE. Requires: no hardware uses the tree. */
uint64_t tables_drop(uint32_t kind, uint32_t p, uint32_t root, uint32_t levels, uint64_t cursor);

#endif
