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

void arch_frame_copy(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    uint64_t *destination = (uint64_t *)direct((uint64_t)to << 12) + first_word;
    const uint64_t *source = (const uint64_t *)direct((uint64_t)from << 12) + first_word;
    uint64_t count = words;
    __asm__ volatile("rep movsq" : "+D"(destination), "+S"(source), "+c"(count) : : "memory");
}

void arch_frame_clear(uint32_t frame)
{
    uint64_t *destination = direct((uint64_t)frame << 12);
    uint64_t count = FRAME_WORDS;
    __asm__ volatile("rep stosq" : "+D"(destination), "+c"(count) : "a"(0) : "memory");
}
