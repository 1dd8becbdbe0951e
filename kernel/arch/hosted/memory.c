/* Frames as ordinary memory, page maps, and a TLB per CPU that drops only what is invalidated. */
#include <string.h>
#include <sys/mman.h>

#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

#define FRAME_BYTES 4096ul
#define NUM_TRANSLATION 64u

struct translation {
    uint64_t vaddr;
    uint64_t entry; /* 0: nothing cached */
};

static uint64_t *memory; /* HOSTED_FRAMES frames */
static struct translation translations[NUM_CPU][NUM_TRANSLATION];
static uint32_t loaded_root[NUM_CPU];

void hosted_memory_reset(void)
{
    if (memory == NULL) {
        memory = mmap(NULL, HOSTED_FRAMES * FRAME_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            hosted_fail("no memory for frames", HOSTED_FRAMES);
        }
    } else {
        madvise(memory, HOSTED_FRAMES * FRAME_BYTES, MADV_DONTNEED);
    }
    memset(translations, 0, sizeof translations);
    for (uint32_t cpu = 0; cpu < NUM_CPU; cpu++) {
        loaded_root[cpu] = NONE;
    }
}

static uint64_t *word_of(uint32_t frame, uint32_t word)
{
    if (memory == NULL) {
        hosted_memory_reset();
    }
    if (frame >= HOSTED_FRAMES || word >= FRAME_WORDS) {
        hosted_fail("access outside memory, frame", frame);
    }
    return &memory[(uint64_t)frame * FRAME_WORDS + word];
}

/* Relaxed atomics: page-table words are read by walks of other CPUs, as the hardware does. */
uint64_t arch_frame_read(uint32_t frame, uint32_t word)
{
    return __atomic_load_n(word_of(frame, word), __ATOMIC_RELAXED);
}

void arch_frame_write(uint32_t frame, uint32_t word, uint64_t value)
{
    __atomic_store_n(word_of(frame, word), value, __ATOMIC_RELAXED);
}

void arch_frame_copy(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    if (words == 0) {
        return;
    }
    word_of(to, first_word + words - 1);
    word_of(from, first_word + words - 1);
    memmove(word_of(to, first_word), word_of(from, first_word), words * sizeof(uint64_t));
}

void arch_frame_copy_piece(uint32_t to, uint32_t from, uint32_t first_word, uint32_t words)
{
    arch_frame_copy(to, from, first_word, words);
}

uint32_t arch_frame_limit(void)
{
    return NUM_FRAME;
}

void arch_frame_clear(uint32_t frame)
{
    memset(word_of(frame, 0), 0, FRAME_BYTES);
}

uint64_t arch_kernel_map_entry(uint32_t index)
{
    if (index < 256 || index > 511) {
        hosted_fail("no entry of the kernel's half", index);
    }
    return (uint64_t)(index + 1) << ARCH_PTE_FRAME_SHIFT | ARCH_PTE_PRESENT | ARCH_PTE_WRITE | ARCH_PTE_ACCESSED;
}

void arch_tlb_invalidate_user(void)
{
    memset(translations[hosted_cpu], 0, sizeof translations[hosted_cpu]);
}

void arch_page_map_load(uint32_t root)
{
    word_of(root, 0);
    arch_tlb_invalidate_user();
    __atomic_store_n(&loaded_root[hosted_cpu], root, __ATOMIC_RELAXED);
}

void arch_page_map_load_kernel(void)
{
    arch_tlb_invalidate_user();
    __atomic_store_n(&loaded_root[hosted_cpu], NONE, __ATOMIC_RELAXED);
}

uint32_t arch_loaded_root(void)
{
    return arch_loaded_root_of(hosted_cpu);
}

uint32_t arch_loaded_root_of(uint32_t cpu)
{
    return __atomic_load_n(&loaded_root[cpu], __ATOMIC_RELAXED);
}

void arch_tlb_invalidate_page(uint64_t address)
{
    struct translation *kept = &translations[hosted_cpu][address / FRAME_BYTES % NUM_TRANSLATION];

    if (kept->vaddr == address / FRAME_BYTES) {
        kept->entry = 0;
    }
}

static uint64_t walk(uint32_t root, uint64_t vaddr)
{
    uint32_t table = root;
    uint64_t entry = 0;

    for (uint32_t level = 4; level > 0; level--) {
        entry = arch_frame_read(table, (uint32_t)(vaddr >> (12 + 9 * (level - 1)) & 511));
        if (!(entry & ARCH_PTE_PRESENT) || !(entry & ARCH_PTE_USER)) {
            return 0;
        }
        table = (uint32_t)((entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT);
    }
    return entry;
}

uint32_t hosted_reach(uint64_t vaddr, uint32_t write)
{
    uint32_t root = loaded_root[hosted_cpu];
    struct translation *kept = &translations[hosted_cpu][vaddr / FRAME_BYTES % NUM_TRANSLATION];

    if (kept->vaddr != vaddr / FRAME_BYTES || kept->entry == 0) {
        kept->vaddr = vaddr / FRAME_BYTES;
        kept->entry = root == NONE ? 0 : walk(root, vaddr);
    }
    if (kept->entry == 0 || (write && !(kept->entry & ARCH_PTE_WRITE))) {
        return NONE;
    }
    return (uint32_t)((kept->entry & ARCH_PTE_FRAME_MASK) >> ARCH_PTE_FRAME_SHIFT);
}
