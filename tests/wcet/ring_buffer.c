/* A ring buffer: as many bytes as fit are put, then as many as there are taken.
 * Inputs: head and fill of the ring, of which three bits each count, and how many to put and take. Cases: every fill,
 * put and take up to 9; the head does not steer, and takes a few places. */
#include "program.h"

enum { ROOM = 8 };
struct ring {
    uint32_t head, fill;
    uint8_t bytes[ROOM];
} ring;
uint8_t source[16], target[16];

const uint32_t cases = 8 * 10 * 10;

void prepare(uint32_t number)
{
    ring.head = number * 5;
    ring.fill = number % 8;
    arguments[0] = number / 8 % 10;
    arguments[1] = number / 80;
}

NOINLINE static uint32_t put(struct ring *to, const uint8_t *from, uint32_t count)
{
    uint32_t done = 0;
    while (done < count && to->fill < ROOM) {
        to->bytes[(to->head + to->fill) % ROOM] = from[done++];
        to->fill++;
    }
    return done;
}

NOINLINE static uint32_t take(struct ring *from, uint8_t *to, uint32_t count)
{
    uint32_t done = 0;
    for (; done < count && from->fill > 0; done++) {
        to[done] = from->bytes[from->head];
        from->head = (from->head + 1) % ROOM;
        from->fill--;
    }
    return done;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    ring.head %= ROOM;
    ring.fill %= ROOM;
    return put(&ring, source, first) + take(&ring, target, second < 16 ? second : 16);
}
