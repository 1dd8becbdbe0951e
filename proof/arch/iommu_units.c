/* What units of IOMMUs are told, and what they report: their queues, records of faults, and tables of interrupts. */
#include "abi.h"
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define NUM_UNIT 8u
#define RING_BYTES 4096ul
#define KERNEL_BASE 0xffffffff80000000ul

/* Registers of AMD-Vi. */
#define AMDVI_CONTROL 0x18u
#define AMDVI_COMMAND_TAIL 0x2008u
#define AMDVI_EVENT_HEAD 0x2010u
#define AMDVI_EVENT_TAIL 0x2018u
#define AMDVI_STATUS 0x2020u
#define AMDVI_CONTROL_EVENTS 4ul
#define AMDVI_STATUS_LOST 1ul
/* Its commands: store a word at an address; forget a function, a domain, the interrupts of a function. */
#define AMDVI_WAIT 0x1000000000000001ul
#define AMDVI_FUNCTION 0x2000000000000000ul
#define AMDVI_DOMAIN 0x3000000000000000ul
#define AMDVI_INTERRUPTS 0x5000000000000000ul
#define AMDVI_EVERYTHING 0x7ffffffffffff003ul /* all addresses, tables too */
#define AMDVI_REPLACE 1u                      /* valid, fixed, to one processor */

/* Registers of VT-d. */
#define VTD_COMMAND 0x18u
#define VTD_STATUS 0x1cu
#define VTD_FAULT_STATUS 0x34u
#define VTD_FAULT_CONTROL 0x38u
#define VTD_FAULT_DATA 0x3cu
#define VTD_FAULT_ADDRESS 0x40u
#define VTD_FAULT_UPPER 0x44u
#define VTD_QUEUE_TAIL 0x88u
#define VTD_FLUSH_BUFFER 0x08000000u
#define VTD_STATUS_KEPT 0x96ffffffu
#define VTD_FAULT_MASKED 0x80000000u
#define VTD_FAULT_LOST 1u
#define VTD_FAULT_RECORD 0x8000000000000000ul
#define VTD_CAPABILITY_FLUSH 0x10ul
#define VTD_CAPABILITY_CACHING 0x80ul
/* Its requests: forget contexts, a domain, interrupts; write a word to an address. */
#define VTD_CONTEXTS 0x11ul
#define VTD_DOMAIN 0xe2ul
#define VTD_INTERRUPTS 4ul
#define VTD_WAIT 0x25ul
#define VTD_QUEUE_ENTRIES 256u
#define VTD_LINE_REQUESTS 4u
/* An entry of its table of interrupts; the lines' come first, then those of messages. */
#define VTD_ENTRY_LEVEL_SHIFT 4u
#define VTD_ENTRY_PRESENT 1ul
#define VTD_ENTRY_FROM 0x40000u /* from one function only */
#define VTD_FIRST_MESSAGE 128u
#define VTD_CONTROLLER 0x10000u
#define VTD_MESSAGE 0xfee00010ul

struct amdvi_unit {
    uint64_t base;
    uint64_t tail; /* of its commands, in bytes */
    uint64_t head; /* of its events, in bytes */
    uint64_t commands;
    uint64_t events;
};

struct vtd_unit {
    uint64_t base;
    uint64_t capability;
    uint32_t records;
    uint32_t next; /* record that is taken next */
    uint32_t tail; /* of its queue, in entries */
    uint64_t queue;
};

struct fault {
    uint32_t function;
    uint32_t write;
    uint64_t address;
};

static struct fault last[1];
static struct amdvi_unit amdvi_unit[NUM_UNIT];
static struct vtd_unit vtd_unit[NUM_UNIT];
static uint32_t amdvi_done[2]; /* where a unit writes the number of the wait that it has come to */
static uint32_t vtd_done;
static uint32_t amdvi_waits;
static uint32_t vtd_waits;
static uint64_t entries;     /* VT-d: address of the table of interrupts */
static uint64_t replacement; /* AMD-Vi: of its own */

uint32_t arch_iommu_caches_absent(void)
{
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        return 0u;
    }
    uint32_t count = platform_iommu_count();
    uint64_t seen = 0ul;
    for (uint32_t i = 0u; i < NUM_UNIT && i < count; i = i + 1u) {
        seen = seen | vtd_unit[i].capability;
    }
    if ((seen & (VTD_CAPABILITY_CACHING | VTD_CAPABILITY_FLUSH)) != 0ul) {
        return 1u;
    }
    return 0u;
}

/* Bit u: unit u has recorded a refusal that was not taken. */
uint64_t arch_iommu_refused(void)
{
    uint32_t is_amd = platform_iommu_is_amd();
    uint32_t count = platform_iommu_count();
    uint64_t refused = 0ul;
    if (is_amd != 0u) {
        for (uint32_t i = 0u; i < NUM_UNIT && i < count; i = i + 1u) {
            uint64_t head = amdvi_unit[i].head;
            uint64_t tail = amdvi_read(amdvi_unit[i].base, AMDVI_EVENT_TAIL);
            uint64_t more = 0ul;
            if (head != tail % RING_BYTES) {
                more = 1ul;
            }
            refused = refused | more << i;
        }
        return refused;
    }
    for (uint32_t i = 0u; i < NUM_UNIT && i < count; i = i + 1u) {
        uint32_t status = vtd_read32(vtd_unit[i].base, VTD_FAULT_STATUS);
        refused = refused | (uint64_t)(status >> 1 & 1u) << i;
    }
    return refused;
}

/* Refusals become this interrupt of a CPU; NONE: none. */
void arch_iommu_listen(uint32_t cpu, uint32_t vector)
{
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        return;
    }
    uint32_t id = NONE;
    if (cpu != NONE) {
        id = apic_id_of(cpu);
    }
    uint32_t count = platform_iommu_count();
    for (uint32_t i = 0u; i < NUM_UNIT && i < count; i = i + 1u) {
        vtd_write32(vtd_unit[i].base, VTD_FAULT_CONTROL, VTD_FAULT_MASKED);
        if (id != NONE) {
            vtd_write32(vtd_unit[i].base, VTD_FAULT_DATA, vector);
            uint32_t low = platform_local_apic_low();
            vtd_write32(vtd_unit[i].base, VTD_FAULT_ADDRESS, low | (id & 0xffu) << 12);
            vtd_write32(vtd_unit[i].base, VTD_FAULT_UPPER, id & ~0xffu);
            vtd_write32(vtd_unit[i].base, VTD_FAULT_CONTROL, 0u);
        }
    }
}

/* Takes an event of a unit. If its ring was full, it records again from now on. */
static uint32_t amdvi_fault(uint32_t u)
{
    uint64_t tail = amdvi_read(amdvi_unit[u].base, AMDVI_EVENT_TAIL);
    tail = tail % RING_BYTES;
    if (amdvi_unit[u].head == tail) {
        return 0u;
    }
    uint64_t event = amdvi_unit[u].events + (amdvi_unit[u].head >> 3 << 3);
    uint32_t function = machine_read16(event);
    last[0].function = function;
    uint64_t word = machine_read64(event);
    last[0].write = (uint32_t)(word >> 53) & 1u;
    word = machine_read64(event + 8ul);
    last[0].address = word;
    amdvi_unit[u].head = (amdvi_unit[u].head + 16ul) % RING_BYTES;
    amdvi_write(amdvi_unit[u].base, AMDVI_EVENT_HEAD, amdvi_unit[u].head);
    if (amdvi_unit[u].head == tail) {
        uint64_t status = amdvi_read(amdvi_unit[u].base, AMDVI_STATUS);
        if ((status & AMDVI_STATUS_LOST) != 0ul) {
            uint64_t control = amdvi_read(amdvi_unit[u].base, AMDVI_CONTROL);
            amdvi_write(amdvi_unit[u].base, AMDVI_CONTROL, control & ~AMDVI_CONTROL_EVENTS);
            amdvi_write(amdvi_unit[u].base, AMDVI_STATUS, AMDVI_STATUS_LOST);
            amdvi_write(amdvi_unit[u].base, AMDVI_CONTROL, control | AMDVI_CONTROL_EVENTS);
        }
    }
    return 1u;
}

/* Offset of a record of faults in a unit's registers. */
static uint32_t vtd_record(uint32_t u)
{
    return ((uint32_t)(vtd_unit[u].capability >> 24) & 0x3ffu) * 16u + 16u * vtd_unit[u].next;
}

static uint32_t vtd_fault(uint32_t u)
{
    uint32_t record = vtd_record(u);
    uint64_t high = vtd_read64(vtd_unit[u].base, record + 8u);
    if ((high & VTD_FAULT_RECORD) == 0ul) {
        uint32_t status = vtd_read32(vtd_unit[u].base, VTD_FAULT_STATUS);
        vtd_unit[u].next = (status >> 8 & 0xffu) % vtd_unit[u].records;
        record = vtd_record(u);
        high = vtd_read64(vtd_unit[u].base, record + 8u);
        if ((high & VTD_FAULT_RECORD) == 0ul) {
            return 0u;
        }
    }
    uint64_t address = vtd_read64(vtd_unit[u].base, record);
    last[0].address = address;
    last[0].function = (uint32_t)high & 0xffffu;
    last[0].write = (uint32_t)(high >> 62) & 1u ^ 1u;
    vtd_write64(vtd_unit[u].base, record + 8u, VTD_FAULT_RECORD);
    vtd_write32(vtd_unit[u].base, VTD_FAULT_STATUS, VTD_FAULT_LOST);
    vtd_unit[u].next = (vtd_unit[u].next + 1u) % vtd_unit[u].records;
    return 1u;
}

uint64_t arch_iommu_fault_address(void)
{
    return last[0].address;
}

uint32_t arch_iommu_fault(uint32_t u)
{
    uint32_t found = 0u;
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        found = amdvi_fault(u);
    } else {
        found = vtd_fault(u);
    }
    if (found == 0u) {
        return NONE;
    }
    return last[0].function | last[0].write << 16;
}

static void amdvi_command(uint32_t u, uint64_t low, uint64_t high)
{
    uint64_t at = amdvi_unit[u].commands + (amdvi_unit[u].tail >> 3 << 3);
    machine_write64(at, low);
    at = amdvi_unit[u].commands + (amdvi_unit[u].tail >> 3 << 3);
    machine_write64(at + 8ul, high);
    amdvi_unit[u].tail = (amdvi_unit[u].tail + 16ul) % RING_BYTES;
}

/* Waits until a unit has done all its commands. */
static uint32_t amdvi_complete(uint32_t u)
{
    uint64_t done = machine_amdvi_done();
    uint64_t at = amdvi_unit[u].commands + (amdvi_unit[u].tail >> 3 << 3);
    machine_write64(at, AMDVI_WAIT | done - KERNEL_BASE);
    amdvi_waits = amdvi_waits + 1u;
    at = amdvi_unit[u].commands + (amdvi_unit[u].tail >> 3 << 3);
    machine_write64(at + 8ul, (uint64_t)amdvi_waits);
    amdvi_unit[u].tail = (amdvi_unit[u].tail + 16ul) % RING_BYTES;
    amdvi_write(amdvi_unit[u].base, AMDVI_COMMAND_TAIL, amdvi_unit[u].tail);
    uint32_t finished = iommu_await(done, ~0u, amdvi_waits);
    return finished;
}

/* Two requests, the second one twice, and a wait: they fill a line of the queue. */
static uint32_t vtd_complete(uint32_t u, uint64_t first, uint64_t second)
{
    uint64_t done = machine_vtd_done();
    vtd_waits = vtd_waits + 1u;
    uint64_t line = vtd_unit[u].queue + ((uint64_t)vtd_unit[u].tail << 4);
    machine_write64(line + 16ul, second);
    machine_write64(line + 32ul, second);
    machine_write64(line, first);
    machine_write64(line + 8ul, 0ul);
    machine_write64(line + 24ul, 0ul);
    machine_write64(line + 40ul, 0ul);
    machine_write64(line + 48ul, VTD_WAIT | (uint64_t)vtd_waits << 32);
    machine_write64(line + 56ul, done - KERNEL_BASE);
    iommu_flush_line(line);
    vtd_unit[u].tail = (vtd_unit[u].tail + VTD_LINE_REQUESTS) % VTD_QUEUE_ENTRIES;
    vtd_write64(vtd_unit[u].base, VTD_QUEUE_TAIL, (uint64_t)vtd_unit[u].tail << 4);
    uint32_t finished = iommu_await(done, ~0u, vtd_waits);
    return finished;
}

/* A unit forgets what it has cached of a function and of its domain. If it does not, the machine stops. */
void arch_iommu_update(uint32_t u, uint32_t function, uint32_t domain)
{
    uint32_t finished = 0u;
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        amdvi_command(u, AMDVI_FUNCTION | (uint64_t)function, 0ul);
        amdvi_command(u, AMDVI_DOMAIN | (uint64_t)domain << 32, AMDVI_EVERYTHING);
        finished = amdvi_complete(u);
        if (finished == 0u) {
            iommu_fatal();
        }
        return;
    }
    if ((vtd_unit[u].capability & VTD_CAPABILITY_FLUSH) != 0ul) {
        uint32_t status = vtd_read32(vtd_unit[u].base, VTD_STATUS);
        vtd_write32(vtd_unit[u].base, VTD_COMMAND, status & VTD_STATUS_KEPT | VTD_FLUSH_BUFFER);
        finished = iommu_await(DIRECT_MAP + vtd_unit[u].base + (uint64_t)VTD_STATUS, VTD_FLUSH_BUFFER, 0u);
        if (finished == 0u) {
            iommu_fatal();
        }
    }
    finished = vtd_complete(u, VTD_CONTEXTS, VTD_DOMAIN | (uint64_t)domain << 16);
    if (finished == 0u) {
        iommu_fatal();
    }
}

/* An entry of the table of interrupts, which all units then read anew. The word that makes it valid is written last. */
static void vtd_write_entry(uint32_t index, uint64_t low, uint32_t function)
{
    uint64_t at = entries + ((uint64_t)index << 4);
    machine_write64(at + 8ul, (uint64_t)(function | VTD_ENTRY_FROM));
    machine_write64(at, low | VTD_ENTRY_PRESENT);
    iommu_flush_line(at);
    uint32_t count = platform_iommu_count();
    for (uint32_t i = 0u; i < NUM_UNIT && i < count; i = i + 1u) {
        uint32_t finished = vtd_complete(i, VTD_INTERRUPTS, VTD_INTERRUPTS);
        if (finished == 0u) {
            iommu_fatal();
        }
    }
}

static uint64_t vtd_target(uint32_t vector, uint32_t id)
{
    return (uint64_t)vector << 16 | (uint64_t)id << 40;
}

/* The message of a function that is this interrupt of a CPU: what is written, and where. Address 0: none. */
uint64_t iommu_message_address(uint32_t vector, uint32_t id, uint32_t function)
{
    uint32_t replaces = iommu_replaces();
    if (replaces == 0u) {
        return 0xfee00000ul | (uint64_t)id << 12;
    }
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd != 0u) {
        return 0ul;
    }
    uint32_t index = VTD_FIRST_MESSAGE + vector;
    uint64_t target = vtd_target(vector, id);
    vtd_write_entry(index, target, function);
    return VTD_MESSAGE | (uint64_t)index << 5;
}

/* The controller of lines may send this vector to this CPU, level triggered (1) or not (0). The upper word of its entry. */
uint32_t iommu_route(uint32_t vector, uint32_t id, uint32_t is_level)
{
    uint32_t replaces = iommu_replaces();
    if (replaces == 0u) {
        return id << 24;
    }
    uint32_t is_amd = platform_iommu_is_amd();
    if (is_amd == 0u) {
        uint64_t target = vtd_target(vector, id);
        target = target | (uint64_t)is_level << VTD_ENTRY_LEVEL_SHIFT;
        uint32_t function = platform_io_apic_function(0u);
        vtd_write_entry(vector, target, function);
        return vector << 17 | VTD_CONTROLLER;
    }
    machine_write32(replacement + ((uint64_t)vector << 2), AMDVI_REPLACE | id << 8 | vector << 16);
    uint32_t functions = platform_io_apic_functions();
    uint32_t count = platform_iommu_count();
    for (uint32_t f = 0u; f < functions; f = f + 1u) {
        uint32_t controller = platform_io_apic_function(f);
        for (uint32_t u = 0u; u < NUM_UNIT && u < count; u = u + 1u) {
            amdvi_command(u, AMDVI_INTERRUPTS | (uint64_t)controller, 0ul);
            uint32_t finished = amdvi_complete(u);
            if (finished == 0u) {
                iommu_fatal();
            }
        }
    }
    return id << 24;
}
