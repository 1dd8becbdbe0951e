/* An IOMMU: a unit that sees only published tables and entries, and that caches translations and functions until they
 * are invalidated. Entries have a format of their own, so that no other entry can be mistaken for one. */
#include <string.h>

#include "abi.h"
#include "arch.h"
#include "hosted.h"
#include "hosted_parts.h"

#define ENTRY_VALID 0x8000000000000000ul
#define ENTRY_WRITE 0x4000000000000000ul
#define ENTRY_LEVEL_SHIFT 56u /* 0: a page; else the level of the table + 1 */
#define FRAME_MASK 0xfffffffful
#define NUM_FUNCTION 256u /* a test may use functions below this number */
#define NUM_KEPT 1024u
#define NUM_RECORD 64u
#define UNIT 3u /* the only one with devices */

struct function {
    uint32_t attached;
    uint32_t domain;
    uint32_t root;
    uint32_t kept; /* 1: the unit has cached the three fields below, which may differ from those above */
    uint32_t kept_domain;
    uint32_t kept_root;
};

struct kept {
    uint32_t function;
    uint32_t domain;
    uint64_t page;
    uint64_t entry; /* 0: nothing cached */
};

static uint32_t levels;
static uint64_t seen[HOSTED_FRAMES * (uint64_t)FRAME_WORDS]; /* memory as the unit sees it */
static struct function functions[NUM_FUNCTION];
static struct kept kept[NUM_KEPT];
static uint32_t record[NUM_RECORD];
static uint64_t record_address[NUM_RECORD];
static uint32_t records;
static uint64_t taken_address;
static uint32_t listener = NONE;
static uint32_t listener_vector;

void hosted_iommu_reset(void)
{
    levels = 0;
    memset(functions, 0, sizeof functions);
    memset(kept, 0, sizeof kept);
    records = 0;
    listener = NONE;
}

void hosted_iommu_set_levels(uint32_t number)
{
    levels = number;
}

static struct function *of(uint32_t function)
{
    if (function >= NUM_FUNCTION) {
        hosted_fail("the hosted IOMMU has no function", function);
    }
    return &functions[function];
}

uint32_t arch_iommu_levels(void)
{
    return levels;
}

uint64_t arch_iommu_leaf(uint32_t frame, uint32_t prot)
{
    return ENTRY_VALID | frame | ((prot & PROT_WRITE) != 0 ? ENTRY_WRITE : 0);
}

uint64_t arch_iommu_table(uint32_t frame, uint32_t level)
{
    return ENTRY_VALID | ENTRY_WRITE | frame | (uint64_t)(level + 1) << ENTRY_LEVEL_SHIFT;
}

uint32_t arch_iommu_frame(uint64_t entry)
{
    return (uint32_t)(entry & FRAME_MASK);
}

void arch_iommu_publish(uint32_t table, uint32_t part)
{
    const uint32_t words = FRAME_WORDS / ARCH_IOMMU_PARTS;
    for (uint32_t word = part * words; word < (part + 1) * words; word++) {
        seen[(uint64_t)table * FRAME_WORDS + word] = arch_frame_read(table, word);
    }
}

void arch_iommu_write(uint32_t table, uint32_t word, uint64_t entry)
{
    arch_frame_write(table, word, entry);
    seen[(uint64_t)table * FRAME_WORDS + word] = entry;
}

void arch_iommu_attach(uint32_t function, uint32_t domain, uint32_t root)
{
    if (of(function)->attached) {
        hosted_fail("attached twice: function", function);
    }
    of(function)->attached = 1;
    of(function)->domain = domain;
    of(function)->root = root;
}

void arch_iommu_detach(uint32_t function)
{
    of(function)->attached = 0;
}

uint32_t arch_iommu_units(void)
{
    return levels == 0 ? 0 : UNIT + 1;
}

uint32_t arch_iommu_caches_absent(void)
{
    return 0;
}

void arch_iommu_update(uint32_t unit, uint32_t function, uint32_t domain)
{
    if (unit != UNIT) {
        return; /* these have no devices */
    }
    of(function)->kept = 0;
    for (uint32_t i = 0; i < NUM_KEPT; i++) {
        if (kept[i].domain == domain) {
            kept[i].entry = 0;
        }
    }
}

uint64_t arch_iommu_refused(void)
{
    return records > 0 ? 1ul << UNIT : 0;
}

uint32_t arch_iommu_fault(uint32_t unit)
{
    if (unit != UNIT) {
        hosted_fail("no such IOMMU unit", unit);
    }
    if (records == 0) {
        return NONE;
    }
    uint32_t first = record[0];
    taken_address = record_address[0];
    records--;
    memmove(record, record + 1, records * sizeof record[0]);
    memmove(record_address, record_address + 1, records * sizeof record_address[0]);
    return first;
}

void arch_iommu_listen(uint32_t cpu, uint32_t vector)
{
    listener = cpu;
    listener_vector = vector;
}

uint64_t arch_iommu_fault_address(void)
{
    return taken_address;
}

/* The entry of the page at address as the unit's walk finds it, 0 if there is none. */
static uint64_t walk(uint32_t root, uint64_t address)
{
    uint32_t table = root;

    if (address >> (12 + 9 * levels) != 0) {
        return 0;
    }
    for (uint32_t level = levels; level > 0; level--) {
        uint64_t entry = seen[(uint64_t)table * FRAME_WORDS + (address >> (12 + 9 * (level - 1)) & 511)];
        uint64_t expected = level - 1;
        if ((entry & ENTRY_VALID) == 0) {
            return 0;
        }
        if ((entry >> ENTRY_LEVEL_SHIFT & 0x3f) != expected) {
            hosted_fail("an IOMMU entry of the wrong level", entry);
        }
        if (level == 1) {
            return entry;
        }
        table = arch_iommu_frame(entry);
    }
    return 0;
}

static uint64_t translate(uint32_t number, uint64_t address)
{
    struct function *function = of(number);
    struct kept *here = &kept[(address / 4096 + number * 131) % NUM_KEPT];

    if (!function->kept) {
        if (!function->attached) {
            return 0;
        }
        function->kept = 1;
        function->kept_domain = function->domain;
        function->kept_root = function->root;
    }
    if (here->entry == 0 || here->function != number || here->page != address / 4096 ||
        here->domain != function->kept_domain) {
        *here = (struct kept){number, function->kept_domain, address / 4096, walk(function->kept_root, address)};
    }
    return here->entry;
}

uint32_t hosted_iommu_reach(uint32_t function, uint64_t address, uint32_t write)
{
    uint64_t entry = levels == 0 ? 0 : translate(function, address);

    if (levels == 0) {
        return (uint32_t)(address / 4096);
    }
    if (entry != 0 && (!write || (entry & ENTRY_WRITE) != 0)) {
        return arch_iommu_frame(entry);
    }
    if (records < NUM_RECORD) {
        record[records] = function | write << 16;
        record_address[records] = address;
        records++;
        if (listener != NONE) {
            hosted_raise(listener, listener_vector);
        }
    }
    return NONE;
}
