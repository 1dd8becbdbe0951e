/* The invariant walk over containers. Part of container.c in debug builds. */

/* The invariant of container c and its children. */
static uint32_t container_check_one(uint32_t c)
{
    uint32_t children = 0u;
    uint32_t granted = 0u;
    for (uint32_t other = 0u; other < NUM_CONTAINER; other = other + 1u) {
        if (container[other].exists == 1u && container[other].parent == c) {
            children = children + 1u;
            granted = granted + container[other].quota;
        }
    }
    if (container[c].children != children) {
        return 1u;
    }
    if (container[c].granted != granted) {
        return 2u;
    }
    if (container[c].usage > container[c].quota) {
        return 3u;
    }
    if (granted > container[c].usage) {
        return 4u;
    }
    if (container[c].exists == 0u && container[c].quota != 0u) {
        return 5u;
    }
    return 0u;
}

uint32_t container_check(void)
{
    for (uint32_t c = 0u; c < NUM_CONTAINER; c = c + 1u) {
        uint32_t broken = container_check_one(c);
        if (broken != 0u) {
            return broken;
        }
    }
    if (container[CONTAINER_ROOT].exists == 0u || container[CONTAINER_ROOT].parent != NONE) {
        return 6u;
    }
    return 0u;
}
