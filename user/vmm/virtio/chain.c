/* Requests lie in segments as the driver likes: no device may rely on where one ends. */
#include "virtio/chain.h"

#include "ashlar/string.h"

static uint32_t sum(const struct segment *segment, uint32_t count)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += segment[i].length;
    }
    return bytes;
}

uint32_t chain_readable(const struct chain *chain)
{
    return sum(chain->segment, chain->readable);
}

uint32_t chain_writable(const struct chain *chain)
{
    return sum(chain->segment + chain->readable, chain->writable);
}

void chain_read(const struct chain *chain, uint32_t offset, void *to, uint32_t bytes)
{
    uint8_t *at = to;
    for (const struct segment *s = chain->segment; bytes != 0; s++) {
        if (offset >= s->length) {
            offset -= s->length;
            continue;
        }
        uint32_t part = s->length - offset < bytes ? s->length - offset : bytes;
        memcpy(at, s->at + offset, part);
        at += part;
        bytes -= part;
        offset = 0;
    }
}

void chain_write(const struct chain *chain, uint32_t offset, const void *from, uint32_t bytes)
{
    const uint8_t *at = from;
    for (const struct segment *s = chain->segment + chain->readable; bytes != 0; s++) {
        if (offset >= s->length) {
            offset -= s->length;
            continue;
        }
        uint32_t part = s->length - offset < bytes ? s->length - offset : bytes;
        memcpy(s->at + offset, at, part);
        at += part;
        bytes -= part;
        offset = 0;
    }
}
