/* Containers. See container.h for the invariant. */
#include "container.h"

#include "abi.h"
#include "spinlock.h"

/* Guarded by LOCK_CONTAINER. usage includes granted. */
struct container {
    uint32_t exists;
    uint32_t parent;
    uint32_t quota;
    uint32_t usage;
    uint32_t granted; /* sum of the children's quotas */
    uint32_t children;
};

static struct container container[NUM_CONTAINER];

/* Requires: the lock is held, or start-up. */
static void container_set(uint32_t c, uint32_t exists, uint32_t parent, uint32_t quota)
{
    container[c].exists = exists;
    container[c].parent = parent;
    container[c].quota = quota;
    container[c].usage = 0u;
    container[c].granted = 0u;
    container[c].children = 0u;
}

void container_init(uint32_t root_quota)
{
    for (uint32_t c = 0u; c < NUM_CONTAINER; c = c + 1u) {
        container_set(c, 0u, NONE, 0u);
    }
    container_set(CONTAINER_ROOT, 1u, NONE, root_quota);
}

/* Requires: the lock is held. */
static uint32_t container_split_locked(uint32_t parent, uint32_t child, uint32_t quota)
{
    if (container[parent].exists == 0u || container[child].exists == 1u) {
        return ERR_BAD_STATE;
    }
    if (quota > container[parent].quota - container[parent].usage) {
        return ERR_QUOTA;
    }
    container[parent].usage = container[parent].usage + quota;
    container[parent].granted = container[parent].granted + quota;
    container[parent].children = container[parent].children + 1u;
    container_set(child, 1u, parent, quota);
    return STATUS_OK;
}

uint32_t container_split(uint32_t parent, uint32_t child, uint32_t quota)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t status = container_split_locked(parent, child, quota);
    spinlock_release(LOCK_CONTAINER);
    return status;
}

/* Requires: the lock is held. */
static uint32_t container_charge_locked(uint32_t c, uint32_t n)
{
    if (container[c].exists == 0u) {
        return ERR_BAD_STATE;
    }
    if (n > container[c].quota - container[c].usage) {
        return ERR_QUOTA;
    }
    container[c].usage = container[c].usage + n;
    return STATUS_OK;
}

uint32_t container_charge(uint32_t c, uint32_t n)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t status = container_charge_locked(c, n);
    spinlock_release(LOCK_CONTAINER);
    return status;
}

void container_refund(uint32_t c, uint32_t n)
{
    spinlock_acquire(LOCK_CONTAINER);
    container[c].usage = container[c].usage - n;
    spinlock_release(LOCK_CONTAINER);
}

/* Requires: the lock is held. */
static uint32_t container_merge_locked(uint32_t child)
{
    uint32_t parent = container[child].parent;
    uint32_t quota = container[child].quota;
    if (container[child].exists == 0u || container[child].usage != 0u || container[child].children != 0u) {
        return ERR_BAD_STATE;
    }
    container[parent].usage = container[parent].usage - quota;
    container[parent].granted = container[parent].granted - quota;
    container[parent].children = container[parent].children - 1u;
    container_set(child, 0u, NONE, 0u);
    return STATUS_OK;
}

uint32_t container_merge(uint32_t child)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t status = container_merge_locked(child);
    spinlock_release(LOCK_CONTAINER);
    return status;
}

uint32_t container_quota(uint32_t c)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t quota = container[c].quota;
    spinlock_release(LOCK_CONTAINER);
    return quota;
}

uint32_t container_usage(uint32_t c)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t usage = container[c].usage;
    spinlock_release(LOCK_CONTAINER);
    return usage;
}

uint32_t container_parent(uint32_t c)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t parent = container[c].parent;
    spinlock_release(LOCK_CONTAINER);
    return parent;
}

uint32_t container_own_usage(uint32_t c)
{
    spinlock_acquire(LOCK_CONTAINER);
    uint32_t own = container[c].usage - container[c].granted;
    spinlock_release(LOCK_CONTAINER);
    return own;
}

#if DEBUG
#include "container_check.c"
#endif
