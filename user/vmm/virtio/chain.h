/* A request of a virtio driver, as its chain of descriptors gave it. */
#ifndef VMM_CHAIN_H
#define VMM_CHAIN_H

#include <stdint.h>

#define CHAIN_MAX 64u /* segments */

/* Bytes of guest memory, as the monitor's pointer. */
struct segment {
    uint8_t *at;
    uint32_t length;
};

/* The segments that the device reads, then those that it writes; less than 4 GiB in all. */
struct chain {
    uint32_t head;
    uint32_t readable, writable; /* segments of each kind */
    struct segment segment[CHAIN_MAX];
};

/* Bytes that the device reads, and that it writes. */
uint32_t chain_readable(const struct chain *chain);
uint32_t chain_writable(const struct chain *chain);
/* Copies bytes from `offset` of what the device reads, or to `offset` of what it writes. Requires: they are there. */
void chain_read(const struct chain *chain, uint32_t offset, void *to, uint32_t bytes);
void chain_write(const struct chain *chain, uint32_t offset, const void *from, uint32_t bytes);

#endif
