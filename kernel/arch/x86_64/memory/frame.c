/* Frames through the direct map of physical memory. Callers pass frame < NUM_FRAME, word < FRAME_WORDS. */
#include "arch.h"
#include "cpu/cpu.h"

static volatile uint64_t *frame_words(uint32_t frame)
{
    return direct((uint64_t)frame << 12);
}

uint64_t arch_frame_read(uint32_t frame, uint32_t word)
{
    return frame_words(frame)[word];
}

void arch_frame_write(uint32_t frame, uint32_t word, uint64_t value)
{
    frame_words(frame)[word] = value;
}

/* Pages are copied and cleared a cache line at a time: in a string instruction the timing analysis counts a branch for each
 * word. */
#define LINE_WORDS 8u

static void copy_lines(volatile uint64_t *to, const volatile uint64_t *from, uint32_t words)
{
    for (const volatile uint64_t *end = from + words; from != end; from += LINE_WORDS, to += LINE_WORDS) {
#pragma GCC unroll 8
        for (uint32_t j = 0; j < LINE_WORDS; j++) {
            to[j] = from[j];
        }
    }
}

void arch_frame_copy(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    uint64_t *destination = (uint64_t *)direct((uint64_t)to << 12) + first_word;
    const uint64_t *source = (const uint64_t *)direct((uint64_t)from << 12) + first_word;
    uint64_t count = words;
    __asm__ volatile("rep movsq" : "+D"(destination), "+S"(source), "+c"(count) : : "memory");
}

void arch_frame_copy_piece(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    uint32_t whole = words & ~(LINE_WORDS - 1);
    copy_lines(frame_words(to) + first_word, frame_words(from) + first_word, whole);
    arch_frame_copy(to, from, first_word + whole, words % LINE_WORDS);
}

void arch_frame_clear(uint32_t frame)
{
    volatile uint64_t *words = frame_words(frame);
    for (uint32_t i = 0; i < FRAME_WORDS; i += 2 * LINE_WORDS) {
#pragma GCC unroll 16
        for (uint32_t j = 0; j < 2 * LINE_WORDS; j++) {
            words[i + j] = 0;
        }
    }
}
