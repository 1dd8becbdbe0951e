/* Free memory: the firmware's memory map without what is in use. */
#include "boot/memory.h"

#include "cpu/cpu.h"
#include "boot/info.h"
#include "memory/kernel_map.h"
#include "arch.h"
#include "layout.h"

#define FOUR_GIB 0x100000000ul
#define ONE_MIB 0x100000ul
#define LARGE_PAGE 0x200000ul
#define FRAME 4096ul
#define LOW_LIMIT 0x9f000ul
#define NUM_EXCLUDED 4u

extern char kernel_end[];

struct span {
    uint64_t start;
    uint64_t end;
};

static struct span taken; /* allocated by memory_take */
static uint64_t limit = (uint64_t)NUM_FRAME * FRAME;

static uint64_t round_up(uint64_t value)
{
    return (value + FRAME - 1) & ~(FRAME - 1);
}

static struct span range_span(uint32_t i)
{
    const struct memory_range *range = &boot_info.range[i];
    struct span span = {range->base, range->base + range->size};
    if (span.end > limit || span.end < span.start) {
        span.end = limit;
    }
    if (span.start > span.end) {
        span.start = span.end;
    }
    return span;
}

/* The k-th span to exclude from range i: low memory, kernel, module, memory taken, then other ranges that are not
 * usable or precede it. Empty if there is nothing to exclude. */
static struct span excluded(uint32_t i, uint32_t k)
{
    if (k == 0) {
        return (struct span){0, ONE_MIB};
    }
    if (k == 1) {
        return (struct span){KERNEL_PHYSICAL, round_up(kernel_physical(kernel_end))};
    }
    if (k == 2) {
        return (struct span){boot_info.module & ~(FRAME - 1), round_up(boot_info.module + boot_info.module_size)};
    }
    if (k == 3) {
        return taken;
    }
    k = k - NUM_EXCLUDED;
    if (boot_info.range[k].type == MEMORY_USABLE && k >= i) {
        return (struct span){0, 0};
    }
    struct span span = range_span(k);
    if (span.start < span.end) {
        span.start &= ~(FRAME - 1);
        span.end = round_up(span.end);
    }
    return span;
}

/* The first piece of range i at or after `from` that is not excluded; empty if there is none. */
static struct span next_piece(uint32_t i, uint64_t from)
{
    struct span range = range_span(i);
    struct span piece = {round_up(range.start), range.end & ~(FRAME - 1)};

    if (piece.start < from) {
        piece.start = from;
    }
    for (uint32_t k = 0; k < boot_info.num_ranges + NUM_EXCLUDED; k++) {
        struct span hole = excluded(i, k);
        if (hole.start < hole.end && hole.start <= piece.start && piece.start < hole.end) {
            piece.start = hole.end;
            k = ~0u; /* start again with the first hole */
        }
    }
    for (uint32_t k = 0; k < boot_info.num_ranges + NUM_EXCLUDED; k++) {
        struct span hole = excluded(i, k);
        if (hole.start < hole.end && hole.start > piece.start && hole.start < piece.end) {
            piece.end = hole.start;
        }
    }
    return piece;
}

uint32_t memory_free_pieces(void (*give)(uint32_t first, uint32_t count))
{
    uint32_t frames = 0;
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        if (boot_info.range[i].type != MEMORY_USABLE) {
            continue;
        }
        struct span piece = next_piece(i, 0);
        while (piece.start < piece.end) {
            uint32_t count = (uint32_t)((piece.end - piece.start) / FRAME);
            if (give != 0) {
                give((uint32_t)(piece.start / FRAME), count);
            }
            frames += count;
            piece = next_piece(i, piece.end);
        }
    }
    return frames;
}

uint32_t memory_keep_below_4_gib(void)
{
    uint32_t frames = memory_free_pieces(0);
    limit = FOUR_GIB;
    return frames - memory_free_pieces(0);
}

uint32_t arch_frame_limit(void)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        struct span span = range_span(i);
        if (boot_info.range[i].type == MEMORY_USABLE && span.end > end) {
            end = span.end;
        }
    }
    return (uint32_t)(end / FRAME);
}

uint64_t memory_take(uint32_t frames)
{
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        if (boot_info.range[i].type != MEMORY_USABLE) {
            continue;
        }
        struct span piece = next_piece(i, 0);
        while (piece.start < piece.end) {
            if (piece.end - piece.start >= frames * FRAME) {
                taken = (struct span){piece.start, piece.start + frames * FRAME};
                return piece.start;
            }
            piece = next_piece(i, piece.end);
        }
    }
    return 0;
}

void memory_set_caching(void)
{
    static uint64_t memory[NUM_DIRECT_PAGE / 64u];
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        struct span span = range_span(i);
        if (boot_info.range[i].type == 2) { /* reserved: firmware or device registers */
            continue;
        }
        for (uint64_t page = span.start / LARGE_PAGE; page * LARGE_PAGE < span.end; page++) {
            memory[page / 64] |= 1ul << (page % 64);
        }
    }
    kernel_map_set_memory(memory);
}

uint32_t memory_is_ram(uint64_t base, uint64_t size)
{
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        const struct memory_range *range = &boot_info.range[i];
        if (range->type == MEMORY_USABLE && base < range->base + range->size && range->base < base + size) {
            return 1;
        }
    }
    return 0;
}

uint64_t memory_low_page(void)
{
    for (uint32_t i = 0; i < boot_info.num_ranges; i++) {
        struct span span = range_span(i);
        uint64_t page = round_up(span.start);
        if (page < 0x1000) {
            page = 0x1000;
        }
        if (boot_info.range[i].type == MEMORY_USABLE && page + FRAME <= span.end && page + FRAME <= LOW_LIMIT) {
            return page;
        }
    }
    return 0;
}
