/* The vector unit: it holds the state of the thread or guest that used it last, unless that has been taken out. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

#define AREA_WORDS 128u
#define OWNER_GUEST NUM_THREAD
#define NUM_OWNER (NUM_THREAD + NUM_VM)
#define COMPONENT_AVX 4ul
#define CONTROL_INITIAL 0x37ful
#define MXCSR_INITIAL 0x1f80u
#define CR0_LOCKED 8ul /* TS: the next vector instruction of a thread traps */

struct area {
    uint64_t word[AREA_WORDS];
};

static struct area areas[NUM_OWNER];
static uint32_t guest_cpu[NUM_VM]; /* CPU that ran the guest last since its reset, or NONE */
static uint32_t fpu_xsave;
static uint64_t fpu_components;
static uint32_t mitigations_vector_state;

static uint64_t area_address(uint32_t owner)
{
    uint64_t start = machine_areas();
    return start + ((uint64_t)owner << 10);
}

static void save_area(uint32_t owner)
{
    uint64_t area = area_address(owner);
    if (fpu_xsave != 0u) {
        machine_save_vector(area, (uint64_t)(uint32_t)fpu_components);
    } else {
        machine_save_vector_old(area);
    }
}

/* A guest that has run on another CPU since, or was reset, has no state here. */
static void save_owner(uint32_t cpu, uint32_t owner)
{
    if (owner == NONE) {
        return;
    }
    if (owner >= OWNER_GUEST) {
        if (guest_cpu[owner - OWNER_GUEST] != cpu) {
            return;
        }
    }
    save_area(owner);
}

static void load_area(uint32_t owner)
{
    uint64_t area = area_address(owner);
    if (fpu_xsave != 0u) {
        machine_load_vector(area, (uint64_t)(uint32_t)fpu_components);
    } else {
        machine_load_vector_old(area);
    }
}

static void reset_area(uint32_t owner)
{
    for (uint32_t i = 0u; i < AREA_WORDS; i = i + 1u) {
        areas[owner].word[i] = 0ul;
    }
    areas[owner].word[0] = CONTROL_INITIAL;
    areas[owner].word[3] = (uint64_t)MXCSR_INITIAL;
}

void arch_fpu_use(void)
{
    uint32_t thread = arch_current();
    uint32_t cpu = arch_cpu();
    machine_unlock_vector();
    cpu_set_fpu_left(0u);
    uint32_t owner = cpu_fpu_owner();
    uint32_t fresh = thread_fpu_fresh(thread);
    if (owner == thread && fresh == 0u) {
        return;
    }
    save_owner(cpu, owner);
    if (fresh != 0u) {
        reset_area(thread);
        thread_set_fpu_fresh(thread, 0u);
    }
    load_area(thread);
    cpu_set_fpu_owner(thread);
}

/* Where the description asks for it, no register holds anything of the thread afterwards. */
void arch_fpu_leave(void)
{
    uint32_t left = arch_fpu_left();
    if (left == 1u) {
        return;
    }
    if (mitigations_vector_state != 0u) {
        uint32_t owner = arch_current(); /* CR0.TS is clear */
        cpu_set_fpu_owner(NONE);
        save_area(owner);
        machine_clear_x87();
        if ((fpu_components & COMPONENT_AVX) != 0ul) {
            machine_clear_upper();
        }
        machine_clear_xmm();
        machine_load_mxcsr(MXCSR_INITIAL);
    }
    cpu_set_fpu_left(1u);
    uint64_t cr0 = machine_read_cr0();
    machine_write_cr0(cr0 | CR0_LOCKED);
}
