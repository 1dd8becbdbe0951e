/* The invariant walk over bounded buffers. Part of buffer.c in debug builds. */

uint32_t buffer_check(void)
{
    for (uint32_t b = 0u; b < NUM_BUFFER; b = b + 1u) {
        if (buffer[b].capacity > BUFFER_CAPACITY) {
            return 1u;
        }
        if (buffer[b].used > buffer[b].capacity) {
            return 2u;
        }
        if (buffer[b].capacity > 0u && buffer[b].oldest >= buffer[b].capacity) {
            return 3u;
        }
    }
    return 0u;
}
