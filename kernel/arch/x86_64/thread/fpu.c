/* Lazy vector state: the unit holds the state of the last thread or guest that used it (percpu.fpu_owner); CR0.TS is
 * set while another thread runs, and its first vector instruction (#NM) loads its own state. A thread stays on its
 * CPU, so its state is in its area or in the unit of that CPU. A guest owns the unit from its entry until a thread
 * uses it, so no state is switched for a monitor without vector instructions. */
#include "thread/fpu.h"

#include "cpu/constants.h"
#include "cpu/cpu.h"
#include "cpu/mitigations.h"
#include "cpu/percpu.h"

#define CR4_OSXSAVE 0x40000ul
#define COMPONENTS_WANTED 0x7ul /* x87, SSE, AVX */
#define COMPONENT_AVX 0x4ul
#define FCW_INITIAL 0x037f
#define MXCSR_INITIAL 0x1f80

MACHINE_CONSTANT uint32_t fpu_xsave;
MACHINE_CONSTANT uint64_t fpu_components;

/* Owners: threads, then guests. */
#define OWNER_GUEST NUM_THREAD
#define NUM_OWNER (NUM_THREAD + NUM_VM)

static struct fpu_area areas[NUM_OWNER];
static struct fpu_area initial;
static uint32_t guest_cpu[NUM_VM]; /* CPU that ran the guest last since its reset; NONE: its state is the initial one */

void fpu_init_cpu(void)
{
    struct cpuid features = cpuid(1, 0);
    struct cpuid state;

    fpu_area_reset(&initial);
    if ((features.ecx & 1u << 26) == 0) {
        return;
    }
    state = cpuid(0xd, 0);
    write_cr4(read_cr4() | CR4_OSXSAVE);
    fpu_components = state.eax & COMPONENTS_WANTED;
    __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)fpu_components), "d"(0));
    if (cpuid(0xd, 0).ebx <= FPU_AREA_BYTES) {
        fpu_xsave = 1;
    } else {
        __asm__ volatile("xsetbv" : : "c"(0), "a"(3), "d"(0));
        fpu_components = 3;
        fpu_xsave = 1;
    }
}

void fpu_save(struct fpu_area *area)
{
    if (fpu_xsave != 0) {
        __asm__ volatile("xsave64 %0" : "+m"(*area) : "a"((uint32_t)fpu_components), "d"(0) : "memory");
    } else {
        __asm__ volatile("fxsave64 %0" : "=m"(*area) : : "memory");
    }
}

void fpu_load(const struct fpu_area *area)
{
    if (fpu_xsave != 0) {
        __asm__ volatile("xrstor64 %0" : : "m"(*area), "a"((uint32_t)fpu_components), "d"(0) : "memory");
    } else {
        __asm__ volatile("fxrstor64 %0" : : "m"(*area) : "memory");
    }
}

/* All zero but the two control words: XRSTOR takes components whose XSTATE_BV bit is 0 as initial. */
void fpu_area_reset(struct fpu_area *area)
{
    uint64_t *word = (uint64_t *)area;
    for (uint32_t i = 0; i < FPU_AREA_BYTES / 8; i++) {
        word[i] = 0;
    }
    word[0] = FCW_INITIAL;
    word[3] = MXCSR_INITIAL;
}

static struct percpu *this_cpu(void)
{
    return &percpu[arch_cpu()];
}

/* Through GS alone: kernel/timing.toml relies on it. */
static void set_left(uint32_t left)
{
    *(uint32_t __seg_gs *)PERCPU_FPU_LEFT = left;
}

static void lock_unit(void)
{
    write_cr0(read_cr0() | CR0_TS);
}

static void unlock_unit(void)
{
    __asm__ volatile("clts" : : : "memory");
}

static void set_owner(uint32_t owner)
{
    *(uint32_t __seg_gs *)PERCPU_FPU_OWNER = owner;
}

/* Requires: CR0.TS is clear. */
static void save_owner(const struct percpu *cpu, uint32_t owner)
{
    if (owner == NONE || (owner >= OWNER_GUEST && guest_cpu[owner - OWNER_GUEST] != cpu->cpu)) {
        return;
    }
    fpu_save(&areas[owner]);
}

void arch_fpu_reset(uint32_t thread)
{
    arch_threads[thread].fpu_fresh = 1;
}

void arch_fpu_use(void)
{
    struct percpu *cpu = this_cpu();
    uint32_t thread = arch_current();

    unlock_unit();
    set_left(0);
    if (cpu->fpu_owner == thread && arch_threads[thread].fpu_fresh == 0) {
        return;
    }
    save_owner(cpu, cpu->fpu_owner);
    if (arch_threads[thread].fpu_fresh != 0) {
        fpu_area_reset(&areas[thread]);
        arch_threads[thread].fpu_fresh = 0;
    }
    fpu_load(&areas[thread]);
    cpu->fpu_owner = thread;
}

/* Puts every register of the unit into its initial state, by instructions: the same from memory would be lines that no cache
 * holds when an interrupt comes, and this is on the way from an interrupt to its handler. Requires: CR0.TS is clear. */
static void clear_registers(void)
{
    uint32_t mxcsr = MXCSR_INITIAL;

    __asm__ volatile("fninit"); /* first: a pending exception would be raised by what follows */
    /* Registers of MMX are those of x87. */
    __asm__ volatile("pxor %mm0, %mm0\n\tpxor %mm1, %mm1\n\tpxor %mm2, %mm2\n\tpxor %mm3, %mm3");
    __asm__ volatile("pxor %mm4, %mm4\n\tpxor %mm5, %mm5\n\tpxor %mm6, %mm6\n\tpxor %mm7, %mm7");
    if ((fpu_components & COMPONENT_AVX) != 0) {
        __asm__ volatile("vzeroupper"); /* the upper halves of what follows */
    }
    __asm__ volatile("xorps %xmm0, %xmm0\n\txorps %xmm1, %xmm1\n\txorps %xmm2, %xmm2\n\txorps %xmm3, %xmm3");
    __asm__ volatile("xorps %xmm4, %xmm4\n\txorps %xmm5, %xmm5\n\txorps %xmm6, %xmm6\n\txorps %xmm7, %xmm7");
    __asm__ volatile("xorps %xmm8, %xmm8\n\txorps %xmm9, %xmm9\n\txorps %xmm10, %xmm10\n\txorps %xmm11, %xmm11");
    __asm__ volatile("xorps %xmm12, %xmm12\n\txorps %xmm13, %xmm13\n\txorps %xmm14, %xmm14\n\txorps %xmm15, %xmm15");
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

/* Where the description says `vector-state`, the registers hold nothing of the thread afterwards. Otherwise they do, locked by
 * CR0.TS, which some processors of Intel ignore when they speculate. */
void arch_fpu_leave(void)
{
    if (arch_fpu_left() == 1) {
        return;
    }
    if (mitigations_vector_state != 0) {
        set_owner(NONE); /* it was the current thread */
        fpu_save(&areas[arch_current()]);
        clear_registers();
    }
    set_left(1);
    lock_unit();
}

/* The unit still holds the guest's state if the guest was its last user, on this CPU and since its reset. Stale
 * registers on another CPU, from before the reset, are never saved over its state. */
uint32_t fpu_enter_guest(uint32_t vm)
{
    struct percpu *cpu = this_cpu();
    uint32_t owner = OWNER_GUEST + vm;

    if (cpu->fpu_owner == owner && guest_cpu[vm] == cpu->cpu) {
        return 0;
    }
    unlock_unit();
    save_owner(cpu, cpu->fpu_owner);
    if (guest_cpu[vm] == NONE) {
        fpu_area_reset(&areas[owner]);
    }
    fpu_load(&areas[owner]);
    cpu->fpu_owner = owner;
    set_left(1);
    guest_cpu[vm] = cpu->cpu;
    lock_unit();
    return 1;
}

void fpu_reset_guest(uint32_t vm)
{
    guest_cpu[vm] = NONE;
}

uint32_t fpu_repair_components(void)
{
    uint32_t low, high;

    if (fpu_xsave == 0) {
        return 0;
    }
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (((uint64_t)high << 32 | low) == fpu_components) {
        return 0;
    }
    unlock_unit();
    /* First the components that the guest enabled, then the kernel's. */
    __asm__ volatile("xrstor64 %0" : : "m"(initial), "a"(low), "d"(high) : "memory");
    __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)fpu_components), "d"(0));
    fpu_load(&initial);
    lock_unit();
    return 1;
}
