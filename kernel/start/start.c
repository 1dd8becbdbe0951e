/* From the verified boot table to running processes. */
#include "start.h"

#include "abi.h"
#include "arch.h"
#include "buffer.h"
#include "clock/clock.h"
#include "console.h"
#include "container.h"
#include "device.h"
#include "endpoint.h"
#include "frame.h"
#include "guest/guest.h"
#include "boot/info.h"
#include "iommu.h"
#include "irq.h"
#include "keyboard.h"
#include "boot/memory.h"
#include "cpu/mitigations.h"
#include "cpu/trace.h"
#include "notify.h"
#include "pagemap.h"
#include "print.h"
#include "process.h"
#include "queue.h"
#include "run.h"
#include "sched.h"
#include "share.h"
#include "boot/smp.h"
#include "spinlock.h"
#include "table.h"
#include "thread.h"
#include "timer.h"
#include "tlb.h"
#include "trap.h"

#define FRAME 4096ul

void run_init_cpu(void)
{
    mitigations_init_cpu();
    pagemap_load_kernel();
    sched_init_cpu();
}

/* Checks that the machine has what the system needs. */
static void check_needs(uint32_t free_frames)
{
    uint64_t quotas = 0;

    if (table_count(BOOT_CPUS) > arch_cpu_count()) {
        boot_fail(
            "this system needs %u processors, the machine has %u; with QEMU use -smp %u, or describe a smaller system",
            table_count(BOOT_CPUS), arch_cpu_count(), table_count(BOOT_CPUS));
    }
    for (uint32_t p = 0; p < table_count(BOOT_PROCESSES); p++) {
        if (table_process(p)->parent == NONE) {
            quotas += table_process(p)->quota;
        }
    }
    if (table_header()->memory_frames > quotas) {
        quotas = table_header()->memory_frames;
    }
    if (quotas > free_frames) {
        boot_fail("this system needs %U MiB of free memory, the machine has %u%s; with QEMU use a larger -m, or lower "
                  "the quotas",
                  (quotas + 255) / 256, free_frames / 256, table_uses_dma() != 0 ? " below 4 GiB" : "");
    }
    const char *missing = mitigations_choose(table_cpu(0)->flags);
    if (missing != 0) {
        boot_fail("the processor has no %s, which this system's description names: remove it from `mitigations` of "
                  "[system], and of the machine's file",
                  missing);
    }
    missing = guest_missing();
    if (table_count(BOOT_VMS) != 0 && missing != 0) {
        boot_fail(
            "this system runs guests, but the processor has no %s; with QEMU use -cpu max or -cpu EPYC,+svm, on a "
            "PC switch virtualisation (SVM or VT-x) on in the firmware set-up",
            missing);
    }
}

static void init_layers(uint32_t free_frames)
{
    console_init();
    keyboard_init();
    timer_init();
    container_init(free_frames);
    /* The frame table is all zeros so far, which is what frame_init would make of it: every frame is reserved. */
    memory_free_pieces(frame_make_usable);
    pagemap_init();
    tlb_init();
    share_init();
    queue_init();
    thread_init();
    sched_init();
    trap_init();
}

static void define_channels(void)
{
    for (uint32_t i = 0; i < table_count(BOOT_ENDPOINTS); i++) {
        endpoint_define(i, table_endpoint(i)->owner,
                        (table_endpoint(i)->flags & BOOT_ENDPOINT_FIFO) != 0 ? ENDPOINT_FIFO : 0u);
    }
    for (uint32_t i = 0; i < table_count(BOOT_NOTIFICATIONS); i++) {
        notify_define(i, table_notification(i)->owner);
    }
    for (uint32_t i = 0; i < table_count(BOOT_BUFFERS); i++) {
        buffer_define(i, table_buffer(i)->capacity);
    }
    for (uint32_t i = 0; i < table_count(BOOT_SHARES); i++) {
        share_define(i, table_share(i)->from, table_share(i)->to);
    }
    for (uint32_t i = 0; i < table_count(BOOT_DEVICES); i++) {
        const struct boot_device *device = table_device(i);
        device_define(i, device->kind, device->base, device->size, device->owner);
        if (device->function != NONE) {
            iommu_define(device->function, device->owner);
        }
    }
}

static void define_segments(uint32_t p)
{
    const struct boot_process *process = table_process(p);
    for (uint32_t i = process->first_segment; i < process->first_segment + process->num_segments; i++) {
        const struct boot_segment *segment = table_segment(i);
        uint32_t first_frame = segment->kind == BOOT_SEGMENT_TRACE
                                   ? trace_first_frame()
                                   : (uint32_t)((boot_info.module + segment->image_offset) / FRAME);
        uint32_t status = process_define_segment(p, segment->vaddr, segment->memory_size / FRAME, first_frame,
                                                 (segment->image_size + 7u) / 8u, segment->prot,
                                                 segment->kind == BOOT_SEGMENT_COPY ? 1u : 0u);
        if (status != STATUS_OK) {
            boot_fail("process %s: segment %u is refused with error %u", process->name, i - process->first_segment,
                      status);
        }
    }
}

/* The event of a grant slot sets bit `slot` of the notification that its badge names. */
static void define_events(const struct boot_grant *grant)
{
    if (grant->badge == NONE) {
        return;
    }
    if (grant->kind == GRANT_CONSOLE) {
        irq_define_console(grant->object, (uint32_t)grant->badge, 1ul << grant->slot);
    }
    if (grant->kind == GRANT_IRQ) {
        for (uint32_t i = 0; i < table_count(BOOT_IRQS); i++) {
            const struct boot_irq *irq = table_irq(i);
            if (irq->gsi == grant->object) {
                irq_define(irq->gsi, (uint32_t)grant->badge, 1ul << grant->slot, irq->cpu, irq->flags);
                if (irq->function != NONE) {
                    irq_define_message(irq->gsi, irq->function);
                }
            }
        }
    }
}

static void define_process(uint32_t p)
{
    const struct boot_process *process = table_process(p);

    for (uint32_t i = process->first_thread; i < process->first_thread + process->num_threads; i++) {
        const struct boot_thread *thread = table_thread(i);
        thread_define(thread->id, p, thread->cpu, thread->priority);
        if (thread->period_ns != 0) {
            sched_reserve(thread->id, thread->period_ns, thread->budget_ns);
        }
    }
    process_define(p, process->parent, process->quota, NUM_CPU + process->first_thread, process->num_threads,
                   process->fault_endpoint);
    process_define_start(p, process->entry, process->stack_top, process->argument);
    for (uint32_t i = 0; i < PROCESS_NAME_WORDS; i++) {
        uint64_t word;
        __builtin_memcpy(&word, process->name + 8 * i, sizeof word);
        process_define_name(p, i, word);
    }
    define_segments(p);
    for (uint32_t i = process->first_grant; i < process->first_grant + process->num_grants; i++) {
        const struct boot_grant *grant = table_grant(i);
        uint32_t status = process_set_grant(p, grant->slot, grant->kind, grant->object, grant->rights, grant->badge);

        if (status != STATUS_OK) {
            boot_fail("process %s: the grant of slot %u is refused with error %u", process->name, grant->slot, status);
        }
        define_events(grant);
    }
}

/* Creates and loads process p. A parent must be created before its children, whose quotas are parts of its own. */
static void create_process(uint32_t p)
{
    uint32_t parent = table_process(p)->parent;
    if (process_state(p) != PROCESS_EMPTY) {
        return;
    }
    if (parent != NONE && process_state(parent) == PROCESS_EMPTY) {
        boot_fail("process %s starts with the system, but its parent does not", table_process(p)->name);
    }
    uint32_t status = STATUS_RESTART;
    while (status == STATUS_RESTART) {
        status = process_create(p);
    }
    if (status == ERR_QUOTA) {
        boot_fail("process %s: its quota of %u pages is too small for its program; raise it in the description",
                  table_process(p)->name, table_process(p)->quota);
    }
    if (status != STATUS_OK) {
        boot_fail("process %s cannot be created: error %u", table_process(p)->name, status);
    }
}

static int starts(uint32_t p)
{
    return (table_process(p)->flags & BOOT_PROCESS_AUTOSTART) != 0;
}

/* Number of ancestors; parents are created first. */
static uint32_t depth(uint32_t p)
{
    uint32_t n = 0;
    while (table_process(p)->parent != NONE) {
        p = table_process(p)->parent;
        n = n + 1;
    }
    return n;
}

static void create_processes(void)
{
    for (uint32_t level = 0; level < NUM_PROCESS; level++) {
        for (uint32_t p = 0; p < table_count(BOOT_PROCESSES); p++) {
            if (starts(p) && depth(p) == level) {
                create_process(p);
            }
        }
    }
}

static void start_processes(void)
{
    for (uint32_t p = 0; p < table_count(BOOT_PROCESSES); p++) {
        if (starts(p) && process_start(p, 0, 0, 0) != STATUS_OK) {
            boot_fail("process %s cannot be started", table_process(p)->name);
        }
    }
}

void start_system(void)
{
    uint32_t free_frames = memory_free_pieces(0);

    check_needs(free_frames);
    init_layers(free_frames);
    define_channels();
    for (uint32_t p = 0; p < table_count(BOOT_PROCESSES); p++) {
        define_process(p);
    }
    irq_define_kernel_lines(0);
    iommu_listen(0);
    run_init_cpu();
    create_processes();
    boot_print("boot: start-up done in %U us, processes begin\n", clock_since_entry_us());
    smp_release();
    spinlock_kernel_enter();
    start_processes();
    spinlock_kernel_exit();
}
