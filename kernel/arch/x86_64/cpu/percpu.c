/* Each CPU's record, descriptor table and task state; the per-thread records. */
#include "cpu/percpu.h"

#include "cpu/cpu.h"

struct percpu percpu[NUM_CPU];
struct arch_thread arch_threads[NUM_THREAD] __attribute__((aligned(256)));
uint32_t cpus_started = 1;

#define GDT_CODE 0x00af9b000000fffful /* present, DPL 0, 64-bit code, accessed */
#define GDT_DATA 0x00cf93000000fffful
#define GDT_USER_DATA 0x00cff3000000fffful
#define GDT_USER_CODE 0x00affb000000fffful

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

void gdt_load(uint32_t cpu)
{
    struct table_pointer pointer = {sizeof percpu[cpu].gdt - 1, (uint64_t)&percpu[cpu] + offsetof(struct percpu, gdt)};
    __asm__ volatile("lgdt %0" : : "m"(pointer));
}

static void load_gdt(struct percpu *p)
{
    uint64_t base = (uint64_t)&p->tss;
    uint64_t limit = sizeof(struct tss) - 1;

    p->gdt[0] = 0;
    p->gdt[SELECTOR_KERNEL_CODE / 8] = GDT_CODE;
    p->gdt[SELECTOR_KERNEL_DATA / 8] = GDT_DATA;
    p->gdt[SELECTOR_SYSRET_BASE / 8] = 0; /* 32-bit user code: none */
    p->gdt[SELECTOR_USER_DATA / 8] = GDT_USER_DATA;
    p->gdt[SELECTOR_USER_CODE / 8] = GDT_USER_CODE;
    p->gdt[SELECTOR_TSS / 8] = limit | (base & 0xffffff) << 16 | 0x89ul << 40 | (base >> 24 & 0xff) << 56;
    p->gdt[SELECTOR_TSS / 8 + 1] = base >> 32;
    gdt_load(p->cpu);
    __asm__ volatile("pushq %0\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "lretq\n"
                     "1:\tmov %1, %%ss\n\t"
                     "mov %1, %%ds\n\t"
                     "mov %1, %%es\n\t"
                     "mov %2, %%fs\n\t"
                     "mov %2, %%gs\n\t"
                     "lldt %w2\n\t" /* none: a reset leaves one that begins at address 0 */
                     "ltr %w3"
                     :
                     : "i"(SELECTOR_KERNEL_CODE), "r"(SELECTOR_KERNEL_DATA), "r"(0), "r"(SELECTOR_TSS)
                     : "rax", "memory");
}

void percpu_init(uint32_t cpu, uint32_t apic_id)
{
    struct percpu *p = &percpu[cpu];
    uint32_t first_stack = NUM_THREAD + 3u * cpu;

    p->cpu = cpu;
    p->apic_id = apic_id;
    p->thread = &arch_threads[cpu]; /* the idle thread */
    p->current = cpu;
    p->vector = NONE;
    p->root = NONE;
    p->floor = ARCH_FLOOR_NONE;
    p->space = NONE;
    p->fpu_left = 1;
    p->fpu_owner = NONE;
    p->tss.rsp[0] = (uint64_t)p->thread + THREAD_FRAME_END;
    p->tss.ist[0] = STACK_TOP(first_stack);
    p->tss.ist[1] = STACK_TOP(first_stack + 1u);
    p->tss.ist[2] = STACK_TOP(first_stack + 2u);
    p->tss.io_map = sizeof(struct tss);
    load_gdt(p);
    write_msr(MSR_GS_BASE, (uint64_t)p);
    write_msr(MSR_KERNEL_GS_BASE, 0);
    idt_load();
}

/* Through the GS address space, so that the compiler sees a plain 32-bit load. */
uint32_t arch_cpu(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_CPU;
}

uint32_t arch_current(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_CURRENT;
}

uint32_t arch_current_of(uint32_t cpu)
{
    return percpu[cpu].current;
}

uint32_t arch_need_resched(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_NEED_RESCHED;
}

uint32_t arch_floor(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_FLOOR;
}

void arch_set_floor(uint32_t floor)
{
    *(uint32_t __seg_gs *)PERCPU_FLOOR = floor;
}

void arch_set_need_resched(uint32_t pending)
{
    *(uint32_t __seg_gs *)PERCPU_NEED_RESCHED = pending;
}

uint32_t arch_fpu_left(void)
{
    return *(const uint32_t __seg_gs *)PERCPU_FPU_LEFT;
}

void arch_fpu_unused(void)
{
#if DEBUG
    if (arch_fpu_left() != 1) {
        __builtin_trap(); /* another thread could read the registers */
    }
#endif
    *(uint32_t __seg_gs *)PERCPU_FPU_LEFT = 1;
}

uint32_t arch_cpu_count(void)
{
    return cpus_started;
}
