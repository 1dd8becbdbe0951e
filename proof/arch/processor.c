/* What a CPU's record says, page maps, translations. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

/* This CPU's record, by GS. */
struct percpu {
    uint32_t cpu;
    uint32_t apic_id;
    uint64_t thread;
    uint64_t scratch;
    uint32_t vector;
    uint32_t fpu_left;
    uint32_t fpu_owner;
    uint32_t current;
    uint32_t need_resched;
    uint32_t root;
    uint32_t floor;
    uint32_t space;
    uint32_t spare;
    uint32_t tss_reserved;
    uint64_t tss_stack; /* where the processor saves the frame of an interrupt from user mode */
};

#define FRAME_END 176ul /* of a thread's record: behind the frame of iretq */

static struct percpu percpu[1];
static uint32_t cpus_started;

uint32_t arch_cpu(void)
{
    return percpu[0].cpu;
}

/* percpu.thread is the address of this thread's record. */
uint32_t arch_current(void)
{
    return percpu[0].current;
}

uint32_t arch_need_resched(void)
{
    return percpu[0].need_resched;
}

void arch_set_need_resched(uint32_t pending)
{
    percpu[0].need_resched = pending;
}

uint32_t arch_floor(void)
{
    return percpu[0].floor;
}

void arch_set_floor(uint32_t floor)
{
    percpu[0].floor = floor;
}

uint32_t arch_fpu_left(void)
{
    return percpu[0].fpu_left;
}

void arch_fpu_unused(void)
{
#if DEBUG
    if (percpu[0].fpu_left != 1u) {
        machine_undefined(); /* another thread could read the registers */
    }
#endif
    percpu[0].fpu_left = 1u;
}

uint32_t arch_loaded_root(void)
{
    return percpu[0].root;
}

uint32_t arch_cpu_count(void)
{
    return cpus_started;
}

void cpu_set_current(uint32_t thread)
{
    percpu[0].current = thread;
    uint64_t record = machine_record(thread);
    percpu[0].thread = record;
    percpu[0].tss_stack = record + FRAME_END;
}

void cpu_set_fpu_left(uint32_t left)
{
    percpu[0].fpu_left = left;
}

uint32_t cpu_fpu_owner(void)
{
    return percpu[0].fpu_owner;
}

void cpu_set_fpu_owner(uint32_t owner)
{
    percpu[0].fpu_owner = owner;
}

uint32_t cpu_space(void)
{
    return percpu[0].space;
}

void cpu_set_space(uint32_t root)
{
    percpu[0].space = root;
}

void cpu_set_scratch(uint64_t value)
{
    percpu[0].scratch = value;
}

void cpu_set_vector(uint32_t vector)
{
    percpu[0].vector = vector;
}

void arch_page_map_load_kernel(void)
{
    percpu[0].root = NONE;
    mitigations_forget_space();
    uint64_t root = machine_kernel_map();
    machine_write_cr3(root);
}

/* A load of the register drops all translations that are not global. */
void arch_tlb_invalidate_user(void)
{
    uint64_t map = machine_read_cr3();
    machine_write_cr3(map);
}

uint32_t arch_interrupt_poll(void)
{
    percpu[0].vector = NONE;
    machine_window();
    return percpu[0].vector;
}

uint32_t arch_idle(void)
{
    uint32_t vector = NONE;
    while (vector == NONE) {
        percpu[0].vector = NONE;
        machine_wait();
        vector = percpu[0].vector;
    }
    return vector;
}
