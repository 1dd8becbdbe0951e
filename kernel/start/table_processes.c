/* Checks of the boot table: processes with their threads, segments and grants. */
#include "abi.h"
#include "config.h"
#include "cpu/trace.h"
#include "print.h"
#include "sched.h"
#include "table_check.h"

#define FRAME 4096ul
#define PRIORITY_LIMIT (NUM_PRIORITY - 1u) /* the highest is the kernel's own */

static uint8_t granted[NUM_GRANT];

static int in_section(uint32_t first, uint32_t count, enum boot_section_index section)
{
    return first <= table_count(section) && count <= table_count(section) - first;
}

static void check_process(uint32_t p)
{
    const struct boot_process *process = table_process(p);
    uint32_t ancestor = process->parent;

    if (process->name[sizeof process->name - 1] != 0) {
        table_bad(BOOT_PROCESSES, p, "its name has no end");
    }
    for (uint32_t steps = 0; ancestor != NONE; steps++) {
        if (ancestor >= table_count(BOOT_PROCESSES) || steps == NUM_PROCESS) {
            table_bad(BOOT_PROCESSES, p, "its parents do not lead to a first process");
        }
        ancestor = table_process(ancestor)->parent;
    }
    if (!in_section(process->first_thread, process->num_threads, BOOT_THREADS) || process->num_threads == 0 ||
        !in_section(process->first_segment, process->num_segments, BOOT_SEGMENTS) ||
        !in_section(process->first_grant, process->num_grants, BOOT_GRANTS)) {
        table_bad(BOOT_PROCESSES, p, "its threads, segments or grants lie outside their section");
    }
    if (process->fault_endpoint != NONE && process->fault_endpoint >= table_count(BOOT_ENDPOINTS)) {
        table_bad(BOOT_PROCESSES, p, "its fault handler's endpoint does not exist");
    }
    if (process->entry >= USER_END || process->stack_top > USER_END) {
        table_bad(BOOT_PROCESSES, p, "entry or stack are no user addresses");
    }
}

static void check_threads(uint32_t p)
{
    const struct boot_process *process = table_process(p);
    for (uint32_t i = process->first_thread; i < process->first_thread + process->num_threads; i++) {
        const struct boot_thread *thread = table_thread(i);
        if (thread->process != p || thread->id != NUM_CPU + i) {
            table_bad(BOOT_THREADS, i, "it is not the thread its process counts");
        }
        if (thread->cpu >= table_count(BOOT_CPUS)) {
            table_bad(BOOT_THREADS, i, "its CPU does not exist");
        }
        if (thread->priority >= PRIORITY_LIMIT) {
            table_bad(BOOT_THREADS, i, "its priority is out of range");
        }
        if (thread->budget_ns > thread->period_ns || thread->period_ns > SCHED_PERIOD_MAX_NS ||
            (thread->period_ns != 0 && thread->budget_ns < SCHED_BUDGET_MIN_NS)) {
            table_bad(BOOT_THREADS, i, "its budget does not fit its period");
        }
    }
}

static void check_trace(uint32_t i)
{
    const struct boot_segment *segment = table_segment(i);
    uint64_t rings = table_count(BOOT_CPUS) * TRACE_RING_BYTES;

    if (segment->prot != PROT_READ || segment->image_size != 0 || segment->memory_size != TRACE_RINGS + rings) {
        table_bad(BOOT_SEGMENTS, i, "the trace is read as a whole, and only read");
    }
    if (trace_first_frame() == NONE) {
        boot_fail("a process of this system reads the trace, but this kernel records none; boot the kernel that "
                  "./ashlar build names for this system, or build it with TRACE=1");
    }
}

static void check_segment(uint32_t i)
{
    const struct boot_header *header = table_header();
    const struct boot_segment *segment = table_segment(i);

    if (segment->kind == BOOT_SEGMENT_TRACE) {
        check_trace(i);
        return;
    }
    if (segment->image_offset % FRAME != 0 || segment->image_size > segment->memory_size ||
        (segment->image_size != 0 && segment->image_offset < header->payload_offset) ||
        segment->image_offset > header->image_size ||
        segment->image_size > header->image_size - segment->image_offset) {
        table_bad(BOOT_SEGMENTS, i, "its contents lie outside the payload");
    }
    if (segment->kind == BOOT_SEGMENT_IMAGE) {
        if ((segment->prot & PROT_WRITE) != 0 ||
            ((segment->image_size + FRAME - 1) & ~(FRAME - 1)) != segment->memory_size) {
            table_bad(BOOT_SEGMENTS, i, "the image's own pages cannot be written or extended");
        }
    } else if (segment->kind != BOOT_SEGMENT_COPY) {
        table_bad(BOOT_SEGMENTS, i, "unknown kind");
    }
}

static void check_segments(uint32_t p)
{
    const struct boot_process *process = table_process(p);
    for (uint32_t i = process->first_segment; i < process->first_segment + process->num_segments; i++) {
        check_segment(i);
    }
}

static int irq_exists(uint32_t line)
{
    for (uint32_t i = 0; i < table_count(BOOT_IRQS); i++) {
        if (table_irq(i)->gsi == line) {
            return 1;
        }
    }
    return 0;
}

static int notification_exists(uint64_t badge)
{
    return badge == NONE || badge < table_count(BOOT_NOTIFICATIONS);
}

/* The reason why process p must not have this grant, or 0. */
/* Which end of a share the rights are for: RIGHT_OFFER or RIGHT_ACCEPT; 0 if they are no rights of a share. */
static uint32_t share_end(uint32_t rights)
{
    uint32_t end = rights & ~RIGHT_WRITE;

    return end == RIGHT_OFFER || end == RIGHT_ACCEPT ? end : 0;
}

static const char *grant_fault(uint32_t p, const struct boot_grant *grant)
{
    uint32_t object = grant->object;
    uint32_t rights = grant->rights;

    switch (grant->kind) {
    case GRANT_ENDPOINT:
        if (object >= table_count(BOOT_ENDPOINTS) || rights == 0 || rights > (RIGHT_SEND | RIGHT_RECV)) {
            return "no such endpoint or rights";
        }
        return 0;
    case GRANT_NOTIFICATION:
        if (object >= table_count(BOOT_NOTIFICATIONS) || rights == 0 || rights > (RIGHT_SIGNAL | RIGHT_WAIT)) {
            return "no such notification or rights";
        }
        return 0;
    case GRANT_BUFFER:
        return object >= table_count(BOOT_BUFFERS) || rights == 0 || rights > (RIGHT_INSERT | RIGHT_REMOVE)
                   ? "no such bounded buffer or rights"
                   : 0;
    case GRANT_SHARE:
        if (object >= table_count(BOOT_SHARES) || share_end(rights) == 0) {
            return "no such share or rights";
        }
        return (share_end(rights) == RIGHT_OFFER ? table_share(object)->from : table_share(object)->to) != p
                   ? "the share joins other processes"
                   : 0;
    case GRANT_PROCESS:
        if (object >= table_count(BOOT_PROCESSES) || table_process(object)->parent != p) {
            return "only a parent controls a process";
        }
        return notification_exists(grant->badge) ? 0 : "it signals no notification";
    case GRANT_IRQ:
        if (!irq_exists(object)) {
            return "no such interrupt";
        }
        return notification_exists(grant->badge) && grant->badge != NONE ? 0 : "it signals no notification";
    case GRANT_MESSAGE:
        return irq_exists(object) ? 0 : "no such interrupt";
    case GRANT_MMIO:
    case GRANT_PORT:
        if (object >= table_count(BOOT_DEVICES) || table_device(object)->kind != grant->kind) {
            return "no such device";
        }
        return table_device(object)->owner != p ? "the device is another process's" : 0;
    case GRANT_VM:
        return object >= table_count(BOOT_VMS) || table_vm(object)->process != p ? "the machine is another process's"
                                                                                 : 0;
    case GRANT_CONSOLE:
        if (object >= table_count(BOOT_CONSOLES)) {
            return "no such console";
        }
        return notification_exists(grant->badge) ? 0 : "it signals no notification";
    case GRANT_DMA:
    case GRANT_POWER:
        return 0;
    default:
        return "unknown kind";
    }
}

static void check_grants(uint32_t p)
{
    const struct boot_process *process = table_process(p);

    for (uint32_t slot = 0; slot < NUM_GRANT; slot++) {
        granted[slot] = 0;
    }
    for (uint32_t i = process->first_grant; i < process->first_grant + process->num_grants; i++) {
        const struct boot_grant *grant = table_grant(i);
        const char *fault = grant_fault(p, grant);
        if (grant->slot >= NUM_GRANT || granted[grant->slot] != 0) {
            table_bad(BOOT_GRANTS, i, "its slot is out of range or taken");
        }
        if (fault != 0) {
            table_bad(BOOT_GRANTS, i, fault);
        }
        granted[grant->slot] = 1;
    }
}

void table_check_processes(void)
{
    for (uint32_t p = 0; p < table_count(BOOT_PROCESSES); p++) {
        check_process(p);
        check_threads(p);
        check_segments(p);
        check_grants(p);
    }
}
