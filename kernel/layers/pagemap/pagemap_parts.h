/* Private to the pagemap layer. Everything here requires LOCK_PAGEMAP_BASE + p held and p's map to exist. */
#ifndef ASHLAR_PAGEMAP_PARTS_H
#define ASHLAR_PAGEMAP_PARTS_H

#include <stdint.h>

/* Level 3 is the root, level 0 holds the leaves. */
#define PAGEMAP_ROOT_LEVEL 3u

void pagemap_lock(uint32_t p);
void pagemap_unlock(uint32_t p);
uint32_t pagemap_exists(uint32_t p);
uint32_t pagemap_root(uint32_t p);

/* Marks p's page map as not existing. */
void pagemap_drop_root(uint32_t p);

/* Progress of destruction: everything below this address has been freed. */
uint64_t pagemap_cursor(uint32_t p);
void pagemap_set_cursor(uint32_t p, uint64_t vaddr);

/* Word of the entry for vaddr in a table of this level. */
uint32_t pagemap_index(uint64_t vaddr, uint32_t level);

/* The frame an entry names. */
uint32_t pagemap_entry_frame(uint64_t entry);

/* The table of this level on the way to vaddr; NONE if a table above it is missing. */
uint32_t pagemap_table(uint32_t p, uint64_t vaddr, uint32_t level);

#endif
