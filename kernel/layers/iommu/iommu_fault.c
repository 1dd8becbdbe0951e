/* Refused accesses: counted for the owner of the device; the first ones are printed. Each call handles one. */
#include "arch.h"
#include "console.h"
#include "intc.h"
#include "iommu.h"
#include "iommu_parts.h"
#include "spinlock.h"

#define IOMMU_PRINTED 32u /* refusals printed since start-up; the rest is only counted */

/* Guarded by LOCK_IOMMU. */
static uint64_t iommu_refusals[NUM_PROCESS]; /* of a process's functions */
static uint64_t iommu_stray;                 /* of functions without owner */
static uint32_t iommu_told;
static uint64_t iommu_turn; /* bit u: unit u has not been served in this round */

void iommu_fault_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        iommu_refusals[p] = 0ul;
    }
    iommu_stray = 0ul;
    iommu_told = 0u;
    iommu_turn = 0ul;
}

/* Appends the lowest `digits` hexadecimal digits of value, at most 8, to the kernel's console. */
static void iommu_print_number(uint64_t value, uint32_t digits)
{
    uint64_t text = 0ul; /* lowest byte first */
    for (uint32_t i = 0u; i < digits && i < 8u; i = i + 1u) {
        uint64_t digit = (value >> (4u * i)) & 15ul;
        uint64_t letter = digit + 0x30ul;
        if (digit > 9ul) {
            letter = digit + 0x57ul;
        }
        text = (text << 8u) | letter;
    }
    console_put(0u, text, digits);
}

/* "iommu: FUNCTION r|w ADDRESS", or as much of it as the console takes. Words of text, lowest byte first. */
static void iommu_print(uint32_t function, uint32_t write, uint64_t address)
{
    uint64_t kind = 0x207220ul; /* " r " */
    if (write == 1u) {
        kind = 0x207720ul; /* " w " */
    }
    console_put(0u, 0x203a756d6d6f69ul, 7u); /* "iommu: " */
    iommu_print_number((uint64_t)function, 4u);
    console_put(0u, kind, 3u);
    iommu_print_number(address >> 32u, 8u);
    iommu_print_number(address, 8u);
    console_put(0u, 0x0aul, 1u);
}

/* Counts one refusal. Requires: LOCK_IOMMU held. */
static void iommu_count(uint32_t fault, uint64_t address)
{
    uint32_t function = fault & 0xffffu;
    uint32_t owner = iommu_owner(function);
    if (owner == NONE) {
        iommu_stray = iommu_stray + 1ul;
    } else {
        iommu_refusals[owner] = iommu_refusals[owner] + 1ul;
    }
    if (iommu_told < IOMMU_PRINTED) {
        iommu_told = iommu_told + 1u;
        iommu_print(function, (fault >> 16u) & 1u, address);
    }
}

/* The next unit, round robin, among those that have recorded a refusal. */
static uint32_t iommu_next_unit(uint64_t refused)
{
    uint64_t turn = refused & iommu_turn;
    if (turn == 0ul) {
        turn = refused;
    }
    uint32_t unit = arch_highest_bit(turn);
    iommu_turn = turn & ~(1ul << unit);
    return unit;
}

/* Handles one refusal. Returns 1 if there may be more to print. Requires: LOCK_IOMMU held. */
static uint32_t iommu_take_one(void)
{
    uint64_t refused = arch_iommu_refused();
    uint32_t before = iommu_told;
    if (refused != 0ul) {
        uint32_t unit = iommu_next_unit(refused);
        uint32_t fault = arch_iommu_fault(unit);
        if (fault == NONE) {
            refused = refused & ~(1ul << unit);
        } else {
            uint64_t address = arch_iommu_fault_address();
            iommu_count(fault, address);
        }
    }
    if (iommu_told == IOMMU_PRINTED) {
        if (before < IOMMU_PRINTED) {
            arch_iommu_listen(NONE, 0u);
        }
        return 0u;
    }
    if (refused == 0ul) {
        return 0u;
    }
    return 1u;
}

void iommu_take_faults(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return;
    }
    spinlock_acquire(LOCK_IOMMU);
    uint32_t more = iommu_take_one();
    spinlock_release(LOCK_IOMMU);
    if (more == 1u) {
        uint32_t cpu = arch_cpu();
        intc_send(cpu, VECTOR_IOMMU);
    }
}

void iommu_notice(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return;
    }
    spinlock_acquire(LOCK_IOMMU);
    uint64_t refused = arch_iommu_refused();
    spinlock_release(LOCK_IOMMU);
    if (refused != 0ul) {
        uint32_t cpu = arch_cpu();
        intc_send(cpu, VECTOR_IOMMU);
    }
}

void iommu_listen(uint32_t cpu)
{
    uint32_t levels = arch_iommu_levels();
    if (levels != 0u) {
        arch_iommu_listen(cpu, VECTOR_IOMMU);
    }
}

uint64_t iommu_faults(uint32_t p)
{
    uint64_t faults = 0ul;
    spinlock_acquire(LOCK_IOMMU);
    faults = iommu_stray;
    if (p < NUM_PROCESS) {
        faults = iommu_refusals[p];
    }
    spinlock_release(LOCK_IOMMU);
    return faults;
}
