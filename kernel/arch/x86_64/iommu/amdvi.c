/* AMD-Vi: one device table for all units, with an entry for each function; an entry without levels and permissions
 * blocks all memory accesses and interrupts. Interrupts of I/O interrupt controllers are remapped by a table indexed
 * by vector, so that a device that forges their requester id can send no other interrupts. Units are cache-coherent.
 * After start-up, callers hold LOCK_IOMMU. */
#include "iommu/iommu_units.h"

#include "arch.h"
#include "cpu/cpu.h"
#include "interrupt/ioapic.h"
#include "memory/kernel_map.h"
#include "boot/platform.h"

#define FRAME 4096ul
#define NUM_FUNCTION 65536u
#define LEVELS 3u

/* Registers: offsets in a unit's window. */
#define REG_TABLE 0x0u
#define REG_COMMANDS 0x8u
#define REG_EVENTS 0x10u
#define REG_CONTROL 0x18u
#define REG_COMMAND_HEAD 0x2000u
#define REG_COMMAND_TAIL 0x2008u
#define REG_EVENT_HEAD 0x2010u
#define REG_EVENT_TAIL 0x2018u
#define REG_STATUS 0x2020u

#define CONTROL_TRANSLATE 0x1ul
#define CONTROL_EVENTS 0x4ul
#define CONTROL_COMMANDS 0x1000ul
#define STATUS_LOST 0x1ul               /* events were lost; write 1 to clear */
#define RING_FRAME 0x0800000000000000ul /* of a ring's base: it has one frame, 256 entries */
#define RING_BYTES FRAME

/* Entries of the device table: four words. */
#define ENTRY_WORDS 4u
#define ENTRY_VALID 0x3ul /* entry valid, translation information valid */
#define ENTRY_LEVEL_SHIFT 9u
#define ENTRY_READ 0x2000000000000000ul
#define ENTRY_WRITE 0x4000000000000000ul
#define ENTRY_INTERRUPT 0x1ul              /* word 2: interrupt information valid; all else 0: interrupts are blocked */
#define ENTRY_REPLACE 0x2000000000000010ul /* interrupts are remapped by a table of 256 words */
#define REPLACE_VALID 0x1u                 /* fixed, to one processor */
#define REPLACE_CPU_SHIFT 8u
#define REPLACE_VECTOR_SHIFT 16u
#define TABLE_FRAMES (NUM_FUNCTION * ENTRY_WORDS * 8ul / FRAME)

/* Commands. */
#define COMMAND_WAIT 0x1000000000000001ul /* store a word at an address */
#define COMMAND_FUNCTION 0x2000000000000000ul
#define COMMAND_DOMAIN 0x3000000000000000ul
#define COMMAND_DOMAIN_SHIFT 32u
#define COMMAND_INTERRUPTS 0x5000000000000000ul
#define COMMAND_EVERYTHING 0x7ffffffffffff003ul /* all addresses, tables too */

struct unit {
    uint64_t base;
    uint64_t tail; /* of its commands, in bytes */
    uint64_t head; /* of its events, in bytes */
    uint64_t *commands;
    uint64_t *events;
};

static struct unit unit[NUM_IOMMU];
static uint64_t (*table)[ENTRY_WORDS];
static volatile uint32_t *replacement; /* by vector */
static volatile uint32_t done[2];      /* written by a unit when it reaches a wait command: the number of the wait, 0 */
static uint32_t waits;

uint64_t amdvi_read(uint64_t base, uint32_t reg)
{
    return *(volatile uint64_t *)direct(base + reg);
}

void amdvi_write(uint64_t base, uint32_t reg, uint64_t value)
{
    *(volatile uint64_t *)direct(base + reg) = value;
}

static uint64_t physical(const void *address)
{
    return (uint64_t)address - (uint64_t)direct(0);
}

uint32_t amdvi_frames(void)
{
    return (uint32_t)TABLE_FRAMES + 1 + 2 * platform.iommu_count;
}

uint32_t amdvi_levels(void)
{
    return LEVELS;
}

static void command(struct unit *u, uint64_t low, uint64_t high)
{
    u->commands[u->tail / 8] = low;
    u->commands[u->tail / 8 + 1] = high;
    u->tail = (u->tail + 16) % RING_BYTES;
}

/* Waits until all queued commands have completed. */
static uint32_t complete(struct unit *u)
{
    waits++;
    command(u, COMMAND_WAIT | kernel_physical((const void *)done), waits);
    __asm__ volatile("" : : : "memory");
    amdvi_write(u->base, REG_COMMAND_TAIL, u->tail);
    return iommu_await(done, ~0u, waits);
}

/* Start-up: sends a command to every unit and waits. */
static void command_all(uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        command(&unit[i], low, high);
        if (!complete(&unit[i])) {
            iommu_fatal();
        }
    }
}

void amdvi_attach(uint32_t function, uint32_t domain, uint64_t root)
{
    table[function][1] = domain;
    __asm__ volatile("" : : : "memory");
    table[function][0] = root | ENTRY_VALID | (uint64_t)LEVELS << ENTRY_LEVEL_SHIFT | ENTRY_READ | ENTRY_WRITE;
}

void amdvi_detach(uint32_t function)
{
    table[function][0] = ENTRY_VALID;
}

/* If a unit does not complete its commands, frames could be reused too early, so the machine stops. */
void amdvi_update(uint32_t number, uint32_t function, uint32_t domain)
{
    struct unit *u = &unit[number];

    command(u, COMMAND_FUNCTION | function, 0);
    command(u, COMMAND_DOMAIN | (uint64_t)domain << COMMAND_DOMAIN_SHIFT, COMMAND_EVERYTHING);
    if (!complete(u)) {
        iommu_fatal();
    }
}

uint32_t amdvi_replaces(void)
{
    return platform.num_io_apic_function != 0; /* else, according to the firmware, units do not see interrupts */
}

void amdvi_route(uint32_t vector, uint32_t apic_id)
{
    replacement[vector] = REPLACE_VALID | apic_id << REPLACE_CPU_SHIFT | vector << REPLACE_VECTOR_SHIFT;
    for (uint32_t i = 0; i < platform.num_io_apic_function; i++) {
        command_all(COMMAND_INTERRUPTS | platform.io_apic_function[i], 0);
    }
}

uint64_t amdvi_refused(void)
{
    uint64_t refused = 0;
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        uint64_t more = unit[i].head != amdvi_read(unit[i].base, REG_EVENT_TAIL) % RING_BYTES;
        refused |= more << i;
    }
    return refused;
}

/* Restarts recording in a unit whose event ring was full. */
static void restart_recording(const struct unit *u)
{
    if ((amdvi_read(u->base, REG_STATUS) & STATUS_LOST) != 0) {
        uint64_t control = amdvi_read(u->base, REG_CONTROL);
        amdvi_write(u->base, REG_CONTROL, control & ~CONTROL_EVENTS);
        amdvi_write(u->base, REG_STATUS, STATUS_LOST);
        amdvi_write(u->base, REG_CONTROL, control | CONTROL_EVENTS);
    }
}

uint32_t amdvi_fault(uint32_t number, struct iommu_fault *fault)
{
    struct unit *u = &unit[number];
    uint64_t tail = amdvi_read(u->base, REG_EVENT_TAIL) % RING_BYTES;

    if (u->head == tail) {
        return 0;
    }
    fault->function = (uint32_t)(u->events[u->head / 8] & 0xffff);
    fault->write = (uint32_t)(u->events[u->head / 8] >> 53 & 1);
    fault->address = u->events[u->head / 8 + 1];
    u->head = (u->head + 16) % RING_BYTES;
    amdvi_write(u->base, REG_EVENT_HEAD, u->head);
    if (u->head == tail) {
        restart_recording(u);
    }
    return 1;
}

static uint32_t start(struct unit *u)
{
    amdvi_write(u->base, REG_CONTROL, 0); /* may be enabled by the firmware */
    amdvi_write(u->base, REG_TABLE, physical(table) | (TABLE_FRAMES - 1));
    amdvi_write(u->base, REG_COMMANDS, physical(u->commands) | RING_FRAME);
    amdvi_write(u->base, REG_COMMAND_HEAD, 0);
    amdvi_write(u->base, REG_COMMAND_TAIL, 0);
    amdvi_write(u->base, REG_EVENTS, physical(u->events) | RING_FRAME);
    amdvi_write(u->base, REG_EVENT_HEAD, 0);
    amdvi_write(u->base, REG_EVENT_TAIL, 0);
    amdvi_write(u->base, REG_STATUS, STATUS_LOST);
    amdvi_write(u->base, REG_CONTROL, CONTROL_TRANSLATE | CONTROL_EVENTS | CONTROL_COMMANDS);
    /* Drops what the units have cached of all functions and of domain 0. */
    for (uint32_t function = 0; function < NUM_FUNCTION; function++) {
        command(u, COMMAND_FUNCTION | function, 0);
        if (function % 128 == 127 && !complete(u)) {
            return 0;
        }
    }
    return 1;
}

const char *amdvi_start(uint64_t tables)
{
    if (amdvi_replaces() && !ioapic_can_end()) {
        return "it remaps interrupts that the interrupt controller cannot end";
    }
    table = direct(tables);
    replacement = direct(tables + TABLE_FRAMES * FRAME);
    arch_frame_clear((uint32_t)(tables / FRAME + TABLE_FRAMES));
    for (uint32_t function = 0; function < NUM_FUNCTION; function++) {
        table[function][0] = ENTRY_VALID;
        table[function][1] = 0;
        table[function][2] = amdvi_replaces() ? ENTRY_INTERRUPT : 0;
        table[function][3] = 0;
    }
    for (uint32_t i = 0; i < platform.num_io_apic_function; i++) {
        table[platform.io_apic_function[i]][2] = ENTRY_INTERRUPT | ENTRY_REPLACE | physical((const void *)replacement);
    }
    for (uint32_t i = 0; i < NUM_IOMMU && i < platform.iommu_count; i++) {
        unit[i].base = platform.iommu[i];
        unit[i].commands = direct(tables + (TABLE_FRAMES + 1 + 2 * i) * FRAME);
        unit[i].events = direct(tables + (TABLE_FRAMES + 2 + 2 * i) * FRAME);
        arch_frame_clear((uint32_t)(tables / FRAME + TABLE_FRAMES + 1 + 2 * i));
        arch_frame_clear((uint32_t)(tables / FRAME + TABLE_FRAMES + 2 + 2 * i));
        if (!start(&unit[i])) {
            return "a unit does not answer";
        }
    }
    return 0;
}
