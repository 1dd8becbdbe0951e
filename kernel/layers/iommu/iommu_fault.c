/* Refused accesses: counted for the owner of the device; the first ones are printed. Each call takes one step of handling
 * one refusal. */
#include "arch.h"
#include "console.h"
#include "intc.h"
#include "iommu.h"
#include "iommu_parts.h"
#include "spinlock.h"

#define IOMMU_PRINTED 32u /* refusals printed since start-up; the rest is only counted */

/* The steps. */
#define IOMMU_LOOK 0u          /* looks for a unit that has recorded a refusal */
#define IOMMU_TAKE 1u          /* takes the refusal from it */
#define IOMMU_COUNT 2u         /* counts it */
#define IOMMU_PRINT 3u         /* prints the function */
#define IOMMU_PRINT_ADDRESS 4u /* prints the address */
#define IOMMU_MUTE 5u          /* after the last one that is printed: units interrupt no more */

/* The refusal that is being handled. Guarded by LOCK_IOMMU. */
struct iommu_refusal {
    uint32_t step;  /* the next one */
    uint32_t unit;  /* from TAKE on */
    uint32_t fault; /* from COUNT on: function and direction */
    uint32_t spare;
    uint64_t address;
};

/* Guarded by LOCK_IOMMU. */
static struct iommu_refusal iommu_refusal[1];
static uint64_t iommu_refusals[NUM_PROCESS]; /* of a process's functions */
static uint64_t iommu_stray;                 /* of functions without owner */
static uint32_t iommu_told;
static uint64_t iommu_turn; /* bit u: unit u has not been served in this round */

void iommu_fault_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        iommu_refusals[p] = 0ul;
    }
    iommu_refusal[0].step = IOMMU_LOOK;
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

/* "iommu: FUNCTION r|w ", or as much of it as the console takes. Words of text, lowest byte first. */
static void iommu_print_function(uint32_t fault)
{
    uint64_t kind = 0x207220ul; /* " r " */
    if (((fault >> 16u) & 1u) == 1u) {
        kind = 0x207720ul; /* " w " */
    }
    console_put(0u, 0x203a756d6d6f69ul, 7u); /* "iommu: " */
    iommu_print_number((uint64_t)(fault & 0xffffu), 4u);
    console_put(0u, kind, 3u);
}

static void iommu_print_address(uint64_t address)
{
    iommu_print_number(address >> 32u, 8u);
    iommu_print_number(address, 8u);
    console_put(0u, 0x0aul, 1u);
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

/* The steps return 1 if there may be another one to take. They require LOCK_IOMMU held. */
static uint32_t iommu_look(void)
{
    uint64_t refused = arch_iommu_refused();
    if (refused == 0ul) {
        return 0u;
    }
    uint32_t unit = iommu_next_unit(refused);
    iommu_refusal[0].unit = unit;
    iommu_refusal[0].step = IOMMU_TAKE;
    return 1u;
}

static uint32_t iommu_take(void)
{
    uint32_t fault = arch_iommu_fault(iommu_refusal[0].unit);
    if (fault != NONE) {
        uint64_t address = arch_iommu_fault_address();
        iommu_refusal[0].fault = fault;
        iommu_refusal[0].address = address;
        iommu_refusal[0].step = IOMMU_COUNT;
        return 1u;
    }
    iommu_refusal[0].step = IOMMU_LOOK;
    if (iommu_turn == 0ul) {
        return 0u;
    }
    return 1u;
}

static uint32_t iommu_count(void)
{
    uint32_t owner = iommu_owner(iommu_refusal[0].fault & 0xffffu);
    if (owner == NONE) {
        iommu_stray = iommu_stray + 1ul;
    } else {
        iommu_refusals[owner] = iommu_refusals[owner] + 1ul;
    }
    if (iommu_told == IOMMU_PRINTED) {
        iommu_refusal[0].step = IOMMU_LOOK;
        return 0u;
    }
    iommu_told = iommu_told + 1u;
    iommu_refusal[0].step = IOMMU_PRINT;
    return 1u;
}

static uint32_t iommu_mute(void)
{
    arch_iommu_listen(NONE, 0u);
    iommu_refusal[0].step = IOMMU_LOOK;
    return 0u;
}

/* Takes a step; printing is left to the caller, which needs no lock for it. */
static uint32_t iommu_take_step(uint32_t step)
{
    uint32_t more = 1u;
    if (step == IOMMU_LOOK) {
        more = iommu_look();
    } else if (step == IOMMU_TAKE) {
        more = iommu_take();
    } else if (step == IOMMU_COUNT) {
        more = iommu_count();
    } else if (step == IOMMU_PRINT) {
        iommu_refusal[0].step = IOMMU_PRINT_ADDRESS;
    } else if (step == IOMMU_PRINT_ADDRESS) {
        iommu_refusal[0].step = IOMMU_LOOK;
        if (iommu_told == IOMMU_PRINTED) {
            iommu_refusal[0].step = IOMMU_MUTE;
        }
    } else {
        more = iommu_mute();
    }
    return more;
}

void iommu_take_faults(void)
{
    uint32_t levels = arch_iommu_levels();
    if (levels == 0u) {
        return;
    }
    spinlock_acquire(LOCK_IOMMU);
    uint32_t step = iommu_refusal[0].step;
    uint32_t more = iommu_take_step(step);
    uint32_t fault = iommu_refusal[0].fault;
    uint64_t address = iommu_refusal[0].address;
    spinlock_release(LOCK_IOMMU);
    if (step == IOMMU_PRINT) {
        iommu_print_function(fault);
    }
    if (step == IOMMU_PRINT_ADDRESS) {
        iommu_print_address(address);
    }
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
