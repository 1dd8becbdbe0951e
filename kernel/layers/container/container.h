/* Containers: how many frames each principal may use. Container p belongs to process p, CONTAINER_ROOT to the
 * machine. Quota only moves from a parent to a child (split) and back (merge); quota given to a child counts as used
 * by the parent. Invariant: usage <= quota for every container; usage = frames charged to it + quotas of its
 * children.
 *
 * Lock: LOCK_CONTAINER guards everything here. */
#ifndef ASHLAR_CONTAINER_H
#define ASHLAR_CONTAINER_H

#include <stdint.h>

#include "config.h"

#define CONTAINER_ROOT NUM_PROCESS
#define NUM_CONTAINER (NUM_PROCESS + 1u)

/* Requires: start-up, one CPU runs. Ensures: only CONTAINER_ROOT exists, with root_quota frames, none used. */
void container_init(uint32_t root_quota);

/* Requires: parent, child < NUM_CONTAINER, parent != child. Ensures: child exists with quota frames of parent's.
 * Returns STATUS_OK; ERR_BAD_STATE (child exists, or parent does not); ERR_QUOTA (parent has less left). */
uint32_t container_split(uint32_t parent, uint32_t child, uint32_t quota);

/* Uses n frames of c's quota. Requires: c < NUM_CONTAINER.
 * Returns STATUS_OK; ERR_BAD_STATE (c does not exist); ERR_QUOTA (less than n left). */
uint32_t container_charge(uint32_t c, uint32_t n);

/* Returns n frames to c's quota. Requires: n frames that were charged to c are no longer used. */
void container_refund(uint32_t c, uint32_t n);

/* Removes child and gives its quota back to its parent. Requires: child < NUM_PROCESS. Returns STATUS_OK;
 * ERR_BAD_STATE (it does not exist, or uses frames, or has children; nothing is changed). */
uint32_t container_merge(uint32_t child);

/* Frames; 0 if c does not exist. Requires: c < NUM_CONTAINER. */
uint32_t container_quota(uint32_t c);
uint32_t container_usage(uint32_t c);

/* The container that c's quota was split from; NONE for the root and for a container that does not exist. */
uint32_t container_parent(uint32_t c);

/* Frames charged to c itself, without its children's quotas. */
uint32_t container_own_usage(uint32_t c);

uint32_t container_check(void);

#endif
