/* Intel VT-d: one set of tables for all units. The root table points to a context table for each bus, whose entries
 * name the domain of each function; an entry that is not present blocks the function. After start-up, callers hold
 * LOCK_IOMMU. */
#include "iommu/iommu_units.h"

#include "arch.h"
#include "cpu/cpu.h"
#include "memory/kernel_map.h"
#include "boot/platform.h"

#define FRAME 4096ul
#define NUM_BUS 256u

/* Registers: offsets in a unit's window. */
#define REG_CAPABILITY 0x08u
#define REG_EXTENDED 0x10u
#define REG_COMMAND 0x18u
#define REG_STATUS 0x1cu
#define REG_ROOT 0x20u
#define REG_FAULT_STATUS 0x34u
#define REG_FAULT_CONTROL 0x38u
#define REG_FAULT_DATA 0x3cu
#define REG_FAULT_ADDRESS 0x40u
#define REG_FAULT_UPPER 0x44u
#define REG_PROTECTED 0x64u
#define REG_QUEUE_HEAD 0x80u
#define REG_QUEUE_TAIL 0x88u
#define REG_QUEUE 0x90u
#define REG_INTERRUPTS 0xb8u

#define CAPABILITY_DOMAINS 0x7ul
#define CAPABILITY_256_DOMAINS 2ul
#define CAPABILITY_FLUSH 0x10ul      /* writes must be flushed from a buffer */
#define CAPABILITY_PROTECTED 0x60ul  /* it has protected regions */
#define CAPABILITY_CACHING 0x80ul    /* entries that are not present are cached */
#define CAPABILITY_RECORDS_SHIFT 40u /* bits 40 to 47: records of faults, less one */
#define CAPABILITY_LEVELS_SHIFT 8u   /* bit 1: tables of 3 levels, bit 2: of 4 */
#define EXTENDED_COHERENT 0x1ul
#define EXTENDED_QUEUE 0x2ul
#define EXTENDED_INTERRUPTS 0x8ul

#define COMMAND_TRANSLATE 0x80000000u /* command and status */
#define COMMAND_ROOT 0x40000000u
#define COMMAND_FLUSH 0x08000000u
#define COMMAND_QUEUE 0x04000000u
#define COMMAND_INTERRUPTS 0x02000000u
#define COMMAND_INTERRUPT_TABLE 0x01000000u
#define COMMAND_OLD_INTERRUPTS 0x00800000u /* those that name no entry pass */
#define STATUS_KEPT 0x96ffffffu            /* status bits that a command must keep */
#define PROTECTED_ENABLE 0x80000000u
#define FAULT_MASKED 0x80000000u          /* no interrupt */
#define FAULT_LOST 0x1u                   /* faults were lost; write 1 to clear */
#define FAULT_PENDING 0x2u                /* a record holds a fault */
#define FAULT_FIRST_SHIFT 8u              /* bits 8 to 15: the record that was first filled while all were empty */
#define FAULT_RECORD 0x8000000000000000ul /* upper half of a record: it holds a fault; write 1 to clear */
#define FAULT_READ 0x4000000000000000ul

#define ENTRY_PRESENT 1ul
#define CONTEXT_DOMAIN_SHIFT 8u

/* Requests of the queue, which has one frame. */
#define QUEUE_ENTRIES 256u
#define LINE_REQUESTS 4u         /* a cache line of it */
#define REQUEST_CONTEXTS 0x11ul  /* all entries of the context tables */
#define REQUEST_INTERRUPTS 0x4ul /* all entries of the table of interrupts */
#define REQUEST_ALL 0xd2ul       /* all translations, after draining reads and writes */
#define REQUEST_DOMAIN 0xe2ul    /* those of a domain */
#define REQUEST_WAIT 0x25ul      /* write the word that follows to an address */
#define REQUEST_DOMAIN_SHIFT 16u

struct unit {
    uint64_t base;
    uint64_t capability;
    uint32_t records; /* fault records, used as a ring */
    uint32_t next;    /* record to be taken next */
    uint32_t tail;    /* of its queue, in entries */
    uint64_t (*queue)[2];
};

static struct unit unit[NUM_IOMMU];
static uint64_t (*root)[2];
static uint64_t (*context)[NUM_BUS][2]; /* by bus */
static uint32_t levels;
static uint32_t coherent;
static volatile uint32_t done; /* written by a unit when it reaches a wait request */
static uint32_t waits;

uint32_t vtd_read32(uint64_t base, uint32_t reg)
{
    return *(volatile uint32_t *)direct(base + reg);
}

uint64_t vtd_read64(uint64_t base, uint32_t reg)
{
    return *(volatile uint64_t *)direct(base + reg);
}

void vtd_write32(uint64_t base, uint32_t reg, uint32_t value)
{
    *(volatile uint32_t *)direct(base + reg) = value;
}

void vtd_write64(uint64_t base, uint32_t reg, uint64_t value)
{
    *(volatile uint64_t *)direct(base + reg) = value;
}

uint32_t vtd_frames(void)
{
    return 1 + NUM_BUS + platform.iommu_count + 1;
}

uint32_t vtd_levels(void)
{
    return levels;
}

void vtd_flush(const void *address, uint64_t bytes)
{
    if (coherent == 0) {
        iommu_write_back(address, bytes);
    }
}

/* Gives a command bit and waits until the status shows it (or, for bits that clear themselves, does not). */
static uint32_t command(const struct unit *u, uint32_t bit, uint32_t shown)
{
    vtd_write32(u->base, REG_COMMAND, (vtd_read32(u->base, REG_STATUS) & STATUS_KEPT) | bit);
    return iommu_await(direct(u->base + REG_STATUS), bit, shown);
}

/* ---- the queue of requests ---- */

/* Queues two requests and a wait, and waits until they have completed. They fill a line of the queue, so that units which do not
 * look into caches need one line to be written back; the second request stands there twice, which does no more than once. */
static uint32_t complete(struct unit *u, uint64_t first, uint64_t second)
{
    uint64_t(*line)[2] = &u->queue[u->tail];

    waits++;
    line[0][0] = first;
    line[0][1] = 0;
    line[1][0] = second;
    line[1][1] = 0;
    line[2][0] = second;
    line[2][1] = 0;
    line[3][0] = REQUEST_WAIT | (uint64_t)waits << 32;
    line[3][1] = kernel_physical((const void *)&done);
    vtd_flush(line, LINE_REQUESTS * sizeof line[0]);
    u->tail = (u->tail + LINE_REQUESTS) % QUEUE_ENTRIES;
    __asm__ volatile("" : : : "memory");
    vtd_write64(u->base, REG_QUEUE_TAIL, (uint64_t)u->tail * sizeof u->queue[0]);
    return iommu_await(&done, ~0u, waits);
}

uint32_t vtd_caches_absent(void)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        seen |= unit[i].capability;
    }
    return (seen & (CAPABILITY_CACHING | CAPABILITY_FLUSH)) != 0;
}

/* Lets a unit drop all cached context entries, then the translations of a domain. If it does not complete, frames could
 * be reused too early, so the machine stops. */
void vtd_update(uint32_t number, uint32_t domain)
{
    struct unit *u = &unit[number];

    if ((u->capability & CAPABILITY_FLUSH) != 0 && !command(u, COMMAND_FLUSH, 0)) {
        iommu_fatal();
    }
    if (!complete(u, REQUEST_CONTEXTS, REQUEST_DOMAIN | (uint64_t)domain << REQUEST_DOMAIN_SHIFT)) {
        iommu_fatal();
    }
}

/* ---- tables ---- */

void vtd_attach(uint32_t function, uint32_t domain, uint64_t page_table)
{
    uint64_t *entry = context[function >> 8][function & 0xff];

    entry[1] = (uint64_t)domain << CONTEXT_DOMAIN_SHIFT | (levels - 2);
    __asm__ volatile("" : : : "memory");
    entry[0] = page_table | ENTRY_PRESENT;
    vtd_flush(entry, sizeof context[0][0]);
}

void vtd_detach(uint32_t function)
{
    uint64_t *entry = context[function >> 8][function & 0xff];

    entry[0] = 0;
    __asm__ volatile("" : : : "memory");
    entry[1] = 0;
    vtd_flush(entry, sizeof context[0][0]);
}

static void build_tables(uint64_t tables)
{
    root = direct(tables);
    context = direct(tables + FRAME);
    for (uint64_t frame = 0; frame < vtd_frames(); frame++) {
        arch_frame_clear((uint32_t)(tables / FRAME + frame));
    }
    for (uint32_t bus = 0; bus < NUM_BUS; bus++) {
        root[bus][0] = (tables + FRAME + bus * FRAME) | ENTRY_PRESENT;
    }
    iommu_write_back(direct(tables), vtd_frames() * FRAME);
}

/* ---- faults: each unit has a few records, and drops further faults while they are full ---- */

uint64_t vtd_refused(void)
{
    uint64_t refused = 0;
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        uint64_t pending = (vtd_read32(unit[i].base, REG_FAULT_STATUS) & FAULT_PENDING) != 0;
        refused |= pending << i;
    }
    return refused;
}

/* Offset of a record in a unit's window. */
static uint32_t record(const struct unit *u, uint32_t number)
{
    return (uint32_t)(u->capability >> 24 & 0x3ff) * 16 + 16 * number;
}

uint32_t vtd_fault(uint32_t number, struct iommu_fault *fault)
{
    struct unit *u = &unit[number];
    uint64_t high = vtd_read64(u->base, record(u, u->next) + 8);

    if ((high & FAULT_RECORD) == 0) { /* the first time, and if the firmware has cleared records */
        u->next = (vtd_read32(u->base, REG_FAULT_STATUS) >> FAULT_FIRST_SHIFT & 0xff) % u->records;
        high = vtd_read64(u->base, record(u, u->next) + 8);
        if ((high & FAULT_RECORD) == 0) {
            return 0;
        }
    }
    fault->address = vtd_read64(u->base, record(u, u->next));
    fault->function = (uint32_t)(high & 0xffff);
    fault->write = (high & FAULT_READ) == 0;
    vtd_write64(u->base, record(u, u->next) + 8, FAULT_RECORD);
    vtd_write32(u->base, REG_FAULT_STATUS, FAULT_LOST);
    u->next = (u->next + 1) % u->records;
    return 1;
}

void vtd_listen(uint32_t apic_id, uint32_t vector)
{
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        vtd_write32(unit[i].base, REG_FAULT_CONTROL, FAULT_MASKED);
        if (apic_id != NONE) {
            vtd_write32(unit[i].base, REG_FAULT_DATA, vector);
            vtd_write32(unit[i].base, REG_FAULT_ADDRESS, (uint32_t)platform.local_apic | (apic_id & 0xff) << 12);
            vtd_write32(unit[i].base, REG_FAULT_UPPER, apic_id & ~0xffu);
            vtd_write32(unit[i].base, REG_FAULT_CONTROL, 0);
        }
    }
}

/* ---- start-up ---- */

void vtd_drop_interrupts(void)
{
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        if (!complete(&unit[i], REQUEST_INTERRUPTS, REQUEST_INTERRUPTS)) {
            iommu_fatal();
        }
    }
}

/* Checks the capabilities of unit u. */
static const char *check_capabilities(struct unit *u)
{
    uint64_t extended = vtd_read64(u->base, REG_EXTENDED);

    u->capability = vtd_read64(u->base, REG_CAPABILITY);
    u->records = (uint32_t)(u->capability >> CAPABILITY_RECORDS_SHIFT & 0xff) + 1;
    if ((extended & EXTENDED_QUEUE) == 0) {
        return "a unit has no invalidation queue";
    }
    if ((u->capability & CAPABILITY_DOMAINS) < CAPABILITY_256_DOMAINS) {
        return "a unit has too few domains";
    }
    if ((u->capability >> CAPABILITY_LEVELS_SHIFT & 1ul << (levels - 2)) == 0) {
        return "the units support no common number of table levels";
    }
    coherent &= (uint32_t)(extended & EXTENDED_COHERENT);
    return 0;
}

/* From here on an interrupt that names no entry of the table is refused. */
static uint32_t start_interrupts(struct unit *u)
{
    vtd_write32(u->base, REG_COMMAND, vtd_read32(u->base, REG_STATUS) & STATUS_KEPT & ~COMMAND_OLD_INTERRUPTS);
    vtd_write64(u->base, REG_INTERRUPTS, vtd_interrupts_base());
    if (!command(u, COMMAND_INTERRUPT_TABLE, COMMAND_INTERRUPT_TABLE)) {
        return 0;
    }
    return complete(u, REQUEST_INTERRUPTS, REQUEST_INTERRUPTS) && command(u, COMMAND_INTERRUPTS, COMMAND_INTERRUPTS) &&
           iommu_await(direct(u->base + REG_STATUS), COMMAND_OLD_INTERRUPTS, 0);
}

static const char *start(struct unit *u)
{
    const char *silent = "a unit does not answer";

    vtd_write32(u->base, REG_FAULT_CONTROL, FAULT_MASKED);
    if ((vtd_read32(u->base, REG_STATUS) & COMMAND_QUEUE) != 0) { /* enabled by the firmware */
        vtd_write32(u->base, REG_COMMAND, vtd_read32(u->base, REG_STATUS) & STATUS_KEPT & ~COMMAND_QUEUE);
        if (!iommu_await(direct(u->base + REG_STATUS), COMMAND_QUEUE, 0)) {
            return silent;
        }
    }
    vtd_write64(u->base, REG_QUEUE_TAIL, 0);
    vtd_write64(u->base, REG_QUEUE, (uint64_t)u->queue - (uint64_t)direct(0));
    vtd_write64(u->base, REG_ROOT, (uint64_t)root - (uint64_t)direct(0));
    if (!command(u, COMMAND_QUEUE, COMMAND_QUEUE) || !command(u, COMMAND_ROOT, COMMAND_ROOT)) {
        return silent;
    }
    if (!complete(u, REQUEST_CONTEXTS, REQUEST_ALL) || !command(u, COMMAND_TRANSLATE, COMMAND_TRANSLATE)) {
        return silent;
    }
    if (vtd_replaces() && !start_interrupts(u)) {
        return silent;
    }
    if ((u->capability & CAPABILITY_PROTECTED) != 0) {
        vtd_write32(u->base, REG_PROTECTED, vtd_read32(u->base, REG_PROTECTED) & ~PROTECTED_ENABLE);
    }
    return 0;
}

const char *vtd_start(uint64_t tables)
{
    const char *fault = 0;
    uint64_t sizes = ~0ul;

    uint64_t extended = EXTENDED_INTERRUPTS;

    coherent = 1;
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        unit[i].base = platform.iommu[i];
        unit[i].queue = direct(tables + (1 + NUM_BUS + i) * FRAME);
        sizes &= vtd_read64(unit[i].base, REG_CAPABILITY) >> CAPABILITY_LEVELS_SHIFT;
        extended &= vtd_read64(unit[i].base, REG_EXTENDED);
    }
    levels = (sizes & 2) != 0 ? 3 : 4;
    for (uint32_t i = 0; i < platform.iommu_count && fault == 0; i++) {
        fault = check_capabilities(&unit[i]);
    }
    build_tables(tables);
    if (extended != 0) {
        vtd_interrupts_build(tables + (vtd_frames() - 1) * FRAME);
    }
    for (uint32_t i = 0; i < platform.iommu_count && fault == 0; i++) {
        fault = start(&unit[i]);
    }
    return fault;
}
