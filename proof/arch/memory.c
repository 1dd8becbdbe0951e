/* Frames, and entries of nested page maps. */
#include "abi.h"
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define CLEAR_WORDS 16u
#define LINE_WORDS 8u
#define EPT_MEMORY 0x30ul /* write-back */
#define EPT_READ 1ul
#define EPT_WRITE 2ul
#define EPT_EXECUTE 4ul
#define NPT_PRESENT 1ul
#define NPT_WRITE 2ul
#define NPT_USER 4ul
#define NPT_NO_EXECUTE 0x8000000000000000ul
#define NESTED_ALL 7ul

struct frame {
    uint64_t word[FRAME_WORDS];
};

static struct frame frame[NUM_FRAME];
static uint64_t root[1][FRAME_WORDS]; /* of the kernel's own page map */
static uint32_t on_vmx;
static uint32_t supported;

uint64_t arch_frame_read(uint32_t f, uint32_t word)
{
    return frame[f].word[word];
}

void arch_frame_write(uint32_t f, uint32_t word, uint64_t value)
{
    frame[f].word[word] = value;
}

uint64_t arch_kernel_map_entry(uint32_t index)
{
    return root[0][index];
}

/* In the order of the machine code: part by part. */
void arch_frame_clear(uint32_t f)
{
    for (uint32_t i = 0u; i < FRAME_WORDS; i = i + CLEAR_WORDS) {
        for (uint32_t j = 0u; j < CLEAR_WORDS; j = j + 1u) {
            frame[f].word[i + j] = 0ul;
        }
    }
}

/* In the order of the machine code: whole lines, then the words behind them. */
void arch_frame_copy_piece(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    uint32_t at = first_word;
    for (uint32_t lines = words / LINE_WORDS; lines != 0u; lines = lines - 1u) {
        for (uint32_t j = 0u; j < LINE_WORDS; j = j + 1u) {
            frame[to].word[at + j] = frame[from].word[at + j];
        }
        at = at + LINE_WORDS;
    }
    arch_frame_copy(to, from, at, words % LINE_WORDS);
}

uint32_t guest_on_vmx(void)
{
    return on_vmx;
}

uint32_t arch_vm_supported(void)
{
    return supported;
}

/* Of bits 12 to 43. */
uint32_t arch_nested_frame(uint64_t entry)
{
    return (uint32_t)(entry >> 12);
}

uint64_t arch_nested_table(uint32_t table)
{
    return (uint64_t)table << 12 | NESTED_ALL;
}

uint64_t arch_nested_entry(uint32_t f, uint32_t prot)
{
    uint64_t entry = (uint64_t)f << 12;
    if (on_vmx != 0u) {
        entry = entry | EPT_MEMORY | EPT_READ;
        if ((prot & PROT_WRITE) != 0u) {
            entry = entry | EPT_WRITE;
        }
        if ((prot & PROT_EXEC) != 0u) {
            entry = entry | EPT_EXECUTE;
        }
        return entry;
    }
    entry = entry | NPT_PRESENT | NPT_USER;
    if ((prot & PROT_WRITE) != 0u) {
        entry = entry | NPT_WRITE;
    }
    if ((prot & PROT_EXEC) == 0u) {
        entry = entry | NPT_NO_EXECUTE;
    }
    return entry;
}
