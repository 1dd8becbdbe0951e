/* The kernel's page map. All of it is global and none of it has user permission; nothing is writable and
 * executable, and the direct map holds the text read-only too. */
#include "memory/kernel_map.h"

#include "cpu/cpu.h"
#include "cpu/mitigations.h"
#include "cpu/percpu.h"

#define PTE_LARGE 0x80ul
#define PTE_GLOBAL 0x100ul
#define ENTRIES 512u
#define LARGE_PAGE 0x200000ul
#define NUM_DIRECT_TABLE (NUM_DIRECT_PAGE / ENTRIES)
#define NUM_STACK_TABLE ((NUM_STACK * 2u + ENTRIES - 1u) / ENTRIES)
#define ROOT_DIRECT 256u /* root entry of DIRECT_MAP */
#define ROOT_IMAGE 511u
#define GIB_IMAGE 510u /* third-level entries under ROOT_IMAGE */
#define GIB_STACKS 511u

extern char kernel_text_start[], kernel_text_end[], kernel_rodata_end[], kernel_end[];

typedef uint64_t table[ENTRIES] __attribute__((aligned(4096)));

static table root;
static table direct_gib, direct_pages[NUM_DIRECT_TABLE];
static table image_gib, image_pages, text_pages;
static table stack_pages[NUM_STACK_TABLE], stack_map;
static char stacks[NUM_STACK][4096] __attribute__((aligned(4096)));

uint64_t kernel_physical(const void *address)
{
    return (uint64_t)address - KERNEL_BASE;
}

static uint64_t to_table(const uint64_t *lower)
{
    return kernel_physical(lower) | ARCH_PTE_PRESENT | ARCH_PTE_WRITE | ARCH_PTE_ACCESSED;
}

static void map_direct(void)
{
    const uint64_t data = ARCH_PTE_PRESENT | ARCH_PTE_WRITE | ARCH_PTE_NO_EXECUTE | PTE_LARGE | PTE_GLOBAL;

    for (uint32_t i = 0; i < NUM_DIRECT_PAGE; i++) {
        direct_pages[i / ENTRIES][i % ENTRIES] = i * LARGE_PAGE | data;
    }
    direct_pages[0][KERNEL_PHYSICAL / LARGE_PAGE] &= ~ARCH_PTE_WRITE;
    for (uint32_t i = 0; i < NUM_DIRECT_TABLE; i++) {
        direct_gib[i] = to_table(direct_pages[i]);
    }
}

static void map_image(void)
{
    const uint64_t present = ARCH_PTE_PRESENT | PTE_GLOBAL;
    uint64_t physical = KERNEL_PHYSICAL;

    for (; physical < kernel_physical(kernel_text_end); physical += 4096) {
        text_pages[physical / 4096 % ENTRIES] = physical | present;
    }
    for (; physical < kernel_physical(kernel_rodata_end); physical += 4096) {
        text_pages[physical / 4096 % ENTRIES] = physical | present | ARCH_PTE_NO_EXECUTE;
    }
    image_pages[KERNEL_PHYSICAL / LARGE_PAGE] = to_table(text_pages);
    for (physical = KERNEL_DATA_PHYSICAL; physical < kernel_physical(kernel_end); physical += LARGE_PAGE) {
        image_pages[physical / LARGE_PAGE] = physical | present | PTE_LARGE | ARCH_PTE_WRITE | ARCH_PTE_NO_EXECUTE;
    }
    image_gib[GIB_IMAGE] = to_table(image_pages);
}

static void map_stacks(void)
{
    for (uint32_t i = 0; i < NUM_STACK; i++) {
        uint32_t page = 2 * i + 1;
        stack_pages[page / ENTRIES][page % ENTRIES] =
            kernel_physical(stacks[i]) | ARCH_PTE_PRESENT | ARCH_PTE_WRITE | ARCH_PTE_NO_EXECUTE | PTE_GLOBAL;
    }
    for (uint32_t i = 0; i < NUM_STACK_TABLE; i++) {
        stack_map[i] = to_table(stack_pages[i]);
    }
    image_gib[GIB_STACKS] = to_table(stack_map);
}

void kernel_map_build(void)
{
    _Static_assert(NUM_DIRECT_TABLE <= ENTRIES, "the direct map needs more than one table of GiB");
    map_direct();
    map_image();
    map_stacks();
    root[ROOT_DIRECT] = to_table(direct_gib);
    root[ROOT_IMAGE] = to_table(image_gib);
    write_cr3(kernel_map_root());
}

static void invalidate_all(void)
{
    uint64_t cr4 = read_cr4();
    write_cr4(cr4 & ~0x80ul); /* changing PGE drops global translations */
    write_cr4(cr4 | 0x80ul);
}

void kernel_map_set_memory(const uint64_t memory[NUM_DIRECT_PAGE / 64u])
{
    for (uint32_t i = 0; i < NUM_DIRECT_PAGE; i++) {
        if ((memory[i / 64] >> (i % 64) & 1) == 0) {
            direct_pages[i / ENTRIES][i % ENTRIES] |= ARCH_PTE_UNCACHED;
        }
    }
    invalidate_all();
}

uint64_t kernel_map_root(void)
{
    return kernel_physical(root);
}

uint64_t arch_kernel_map_entry(uint32_t index)
{
    return root[index];
}

void arch_page_map_load(uint32_t frame)
{
    *(uint32_t __seg_gs *)PERCPU_ROOT = frame;
    write_cr3((uint64_t)frame << ARCH_PTE_FRAME_SHIFT);
}

void arch_page_map_load_kernel(void)
{
    *(uint32_t __seg_gs *)PERCPU_ROOT = NONE;
    mitigations_forget_space();
    write_cr3(kernel_map_root());
}

uint32_t arch_loaded_root(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_ROOT;
}

uint32_t arch_loaded_root_of(uint32_t cpu)
{
    return percpu[cpu].root;
}

void arch_tlb_invalidate_page(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

void arch_tlb_invalidate_user(void)
{
    write_cr3(read_cr3());
}
