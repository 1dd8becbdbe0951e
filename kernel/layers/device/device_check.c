/* The invariant walk over device resources. Part of device.c in debug builds. */

uint32_t device_check(void)
{
    for (uint32_t d = 0u; d < NUM_DEVICE; d = d + 1u) {
        if (device[d].kind == GRANT_MMIO && (device[d].base % 4096ul != 0ul || device[d].size % 4096ul != 0ul)) {
            return 1u;
        }
        if (device[d].kind == GRANT_MMIO && device[d].base / 4096ul + device[d].size / 4096ul > 0xfffffffful) {
            return 2u;
        }
        /* Compared without the sum, which could wrap around. */
        if (device[d].kind == GRANT_PORT && (device[d].base > 65536ul || device[d].size > 65536ul - device[d].base)) {
            return 3u;
        }
    }
    return 0u;
}
