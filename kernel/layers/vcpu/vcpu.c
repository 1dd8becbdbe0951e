/* Virtual processors: the loop of a run is the restart of the system call. Each pass enters the guest once; after a
 * physical interrupt the call returns STATUS_RESTART, the interrupt is served as usual, other threads may run, and
 * the repeated call continues with the guest's state still in the control block. So it does after an interrupt that
 * comes while the state is copied from or to the page. */
#include "vcpu.h"

#include "abi.h"
#include "arch.h"
#include "frame.h"
#include "notify.h"
#include "npt.h"
#include "sched.h"
#include "spinlock.h"
#include "thread.h"
#include "timer.h"
#include "trace.h"

#define VCPU_NONE 0u
#define VCPU_THERE 1u
#define VCPU_MAKING 2u /* for others it is not there; its CPU makes it without the lock */
#define VCPU_PAGED 3u  /* it is not there, but its page is */
#define VCPU_RESET 4u  /* the same, and its state is the reset state */

/* One cache line each. LOCK_VCPU_BASE + vm guards exists, process, page and cpu; they do not change while a thread
 * is in vcpu_run. runner and reason: only CPU `cpu`. */
struct vcpu {
    uint32_t exists;  /* VCPU_* */
    uint32_t process; /* owns the page */
    uint32_t page;    /* frame */
    uint32_t cpu;     /* NONE until the first run */
    uint32_t runner;  /* thread whose run was interrupted: the guest's state is newer than the page. Else NONE */
    uint32_t reason;  /* of the last exit; VCPU_EXIT_NONE while the guest runs on */
    uint32_t spare[10];
};

static struct vcpu vcpu[NUM_VM];

/* Marks vm's vcpu, unless it is there, so that this CPU alone makes it. Returns what it was before. */
static uint32_t vcpu_begin_making(uint32_t vm)
{
    spinlock_acquire(LOCK_VCPU_BASE + vm);
    uint32_t before = vcpu[vm].exists;
    if (before != VCPU_THERE) {
        vcpu[vm].exists = VCPU_MAKING;
    }
    spinlock_release(LOCK_VCPU_BASE + vm);
    return before;
}

/* Ensures: vm's vcpu is as `exists` says. Requires: this CPU makes it. */
static void vcpu_end_making(uint32_t vm, uint32_t exists)
{
    spinlock_acquire(LOCK_VCPU_BASE + vm);
    vcpu[vm].exists = exists;
    spinlock_release(LOCK_VCPU_BASE + vm);
}

/* The first step: the page. Requires: this CPU makes the vcpu. Returns STATUS_RESTART, or an error. */
static uint32_t vcpu_make_page(uint32_t vm, uint32_t p)
{
    uint32_t page = frame_alloc(p);
    if (page == NONE || page == FRAME_NO_QUOTA) {
        vcpu_end_making(vm, VCPU_NONE);
        if (page == NONE) {
            return ERR_NO_MEMORY;
        }
        return ERR_QUOTA;
    }
    vcpu[vm].process = p;
    vcpu[vm].page = page;
    vcpu_end_making(vm, VCPU_PAGED);
    return STATUS_RESTART;
}

/* The second step. Requires: this CPU makes the vcpu, which has a page. */
static void vcpu_make_state(uint32_t vm)
{
    arch_vcpu_init(vm);
    arch_vcpu_flush(vm);
    vcpu_end_making(vm, VCPU_RESET);
}

/* The last step: the page shows the state. Requires: this CPU makes the vcpu, whose state is the reset state. */
static void vcpu_show_state(uint32_t vm)
{
    arch_vcpu_export(vm, vcpu[vm].page);
    vcpu[vm].cpu = NONE;
    vcpu[vm].runner = NONE;
    vcpu[vm].reason = VCPU_EXIT_NONE;
    vcpu_end_making(vm, VCPU_THERE);
}

uint32_t vcpu_create(uint32_t vm, uint32_t p)
{
    uint32_t supported = arch_vm_supported();
    if (supported == 0u) {
        return ERR_NOT_SUPPORTED;
    }
    uint32_t before = vcpu_begin_making(vm);
    if (before == VCPU_THERE) {
        return ERR_BAD_STATE;
    }
    if (before == VCPU_MAKING) {
        return STATUS_RESTART;
    }
    if (before == VCPU_NONE) {
        uint32_t status = vcpu_make_page(vm, p);
        return status;
    }
    if (before == VCPU_PAGED) {
        vcpu_make_state(vm);
        return STATUS_RESTART;
    }
    vcpu_show_state(vm);
    return STATUS_OK;
}

uint32_t vcpu_page(uint32_t vm)
{
    uint32_t page = NONE;
    spinlock_acquire(LOCK_VCPU_BASE + vm);
    if (vcpu[vm].exists == VCPU_THERE) {
        page = vcpu[vm].page;
    }
    spinlock_release(LOCK_VCPU_BASE + vm);
    return page;
}

uint32_t vcpu_reason(uint32_t vm)
{
    return vcpu[vm].reason;
}

/* Ends the run: copies the guest's state to the page. Requires: the current thread is the runner. */
static void vcpu_leave(uint32_t vm)
{
    uint32_t page = vcpu[vm].page;
    uint32_t reason = vcpu[vm].reason;
    sched_clear_deadline(vcpu[vm].runner);
    vcpu[vm].runner = NONE;
    arch_vcpu_export(vm, page);
    arch_frame_write(page, VCPU_EXIT_REASON, (uint64_t)reason);
}

/* Runs the guest, outside the kernel lock: meanwhile this CPU uses only its own state of vm. */
static uint32_t vcpu_enter(uint32_t vm, uint32_t root)
{
#if TRACE
    trace_event(TRACE_ENTER, vm);
#endif
    spinlock_kernel_exit();
    uint32_t reason = arch_vcpu_enter(vm, root);
    spinlock_kernel_enter();
#if TRACE
    trace_event(TRACE_EXIT, reason);
#endif
    return reason;
}

/* One pass: enters the guest unless there is a reason not to. Requires: the current thread is the runner. Returns
 * VCPU_EXIT_*; VCPU_EXIT_NONE if an interrupt is pending. */
static uint32_t vcpu_pass(uint32_t vm, uint32_t root, uint64_t deadline, uint32_t notification)
{
    uint64_t now = timer_now();
    if (now >= deadline) {
        return VCPU_EXIT_DEADLINE;
    }
    if (notification == NONE) {
        uint32_t alone = vcpu_enter(vm, root);
        return alone;
    }
    /* From notify_watch on a signal interrupts this CPU, so a signal before the entry is not missed: its pending
     * interrupt makes the guest exit at once. */
    uint32_t reason = VCPU_EXIT_NOTIFIED;
    uint32_t signalled = notify_watch(notification);
    if (signalled == 0u) {
        reason = vcpu_enter(vm, root);
    }
    notify_unwatch(notification);
    return reason;
}

/* Binds vm to the CPU of its first run. Returns 1 if it is bound to `cpu`, else 0. */
static uint32_t vcpu_claim(uint32_t vm, uint32_t cpu)
{
    uint32_t mine = 0u;
    spinlock_acquire(LOCK_VCPU_BASE + vm);
    if (vcpu[vm].exists == VCPU_THERE) {
        if (vcpu[vm].cpu == NONE) {
            vcpu[vm].cpu = cpu;
        }
        if (vcpu[vm].cpu == cpu) {
            mine = 1u;
        }
    }
    spinlock_release(LOCK_VCPU_BASE + vm);
    return mine;
}

/* Takes the groups of the guest's state that have changed from the page, until an interrupt waits. Returns 1 if it does.
 * Requires: as vcpu_begin. */
static uint32_t vcpu_import_parts(uint32_t vm)
{
    uint32_t page = vcpu[vm].page;
    uint32_t pending = 0u;
    uint32_t more = 1u;
    while (more == 1u && pending == 0u) {
        more = arch_vcpu_import_part(vm, page);
        pending = arch_interrupt_pending();
    }
    return pending;
}

/* Brings what the next entry needs to this CPU, in parts, until an interrupt waits. Returns 1 if it does. Requires: the current
 * thread is the runner. */
static uint32_t vcpu_load_parts(uint32_t vm)
{
    uint32_t pending = 0u;
    uint32_t more = 1u;
    while (more == 1u && pending == 0u) {
        more = arch_vcpu_load_part(vm);
        pending = arch_interrupt_pending();
    }
    return pending;
}

/* Finds what an exit is to report beyond its reason, in the same way. */
static uint32_t vcpu_report_parts(uint32_t vm)
{
    uint32_t pending = 0u;
    uint32_t more = 1u;
    while (more == 1u && pending == 0u) {
        more = arch_vcpu_report_part(vm);
        pending = arch_interrupt_pending();
    }
    return pending;
}

/* Takes the rest of the guest's state from the page. Returns 1, or 0 if no processor can have it. Requires: vm is this CPU's,
 * no thread runs it. */
static uint32_t vcpu_begin(uint32_t vm, uint64_t deadline)
{
    uint32_t current = thread_current();
    uint32_t page = vcpu[vm].page;
    uint32_t valid = arch_vcpu_import(vm, page);
    if (valid == 0u) {
        vcpu[vm].reason = VCPU_EXIT_INVALID_STATE;
        arch_frame_write(page, VCPU_EXIT_REASON, (uint64_t)VCPU_EXIT_INVALID_STATE);
        return 0u;
    }
    vcpu[vm].runner = current;
    vcpu[vm].reason = VCPU_EXIT_NONE;
    if (deadline != NOTIFY_FOREVER) {
        sched_set_deadline(current, deadline);
    }
    return 1u;
}

uint32_t vcpu_run(uint32_t vm, uint64_t deadline, uint32_t notification)
{
    uint32_t current = thread_current();
    uint32_t cpu = arch_cpu();
    uint32_t root = npt_root(vm);
    uint32_t mine = vcpu_claim(vm, cpu);
    uint32_t pending = 0u;
    if (mine == 0u || root == NONE) {
        return ERR_BAD_STATE;
    }
    if (vcpu[vm].runner == NONE) {
        pending = vcpu_import_parts(vm);
        if (pending != 0u) {
            return STATUS_RESTART;
        }
        uint32_t begun = vcpu_begin(vm, deadline);
        if (begun == 0u) {
            return STATUS_OK;
        }
        pending = arch_interrupt_pending();
    }
    if (vcpu[vm].runner != current) {
        return ERR_BAD_STATE;
    }
    if (vcpu[vm].reason == VCPU_EXIT_NONE && pending == 0u) {
        pending = vcpu_load_parts(vm);
    }
    if (vcpu[vm].reason == VCPU_EXIT_NONE && pending == 0u) {
        vcpu[vm].reason = vcpu_pass(vm, root, deadline, notification);
        pending = arch_interrupt_pending();
    }
    uint32_t reason = vcpu[vm].reason;
    if ((reason == VCPU_EXIT_MACHINE_CHECK || reason == VCPU_EXIT_INVALID_STATE) && pending == 0u) {
        pending = vcpu_report_parts(vm);
    }
    if (reason == VCPU_EXIT_NONE || pending != 0u) {
        return STATUS_RESTART;
    }
    vcpu_leave(vm);
    return STATUS_OK;
}

void vcpu_destroy(uint32_t vm)
{
    uint32_t page = NONE;
    spinlock_acquire(LOCK_VCPU_BASE + vm);
    uint32_t p = vcpu[vm].process;
    if (vcpu[vm].exists != VCPU_NONE && vcpu[vm].exists != VCPU_MAKING) {
        page = vcpu[vm].page;
        vcpu[vm].exists = VCPU_NONE;
        vcpu[vm].runner = NONE;
        vcpu[vm].page = 0u;
        vcpu[vm].process = 0u;
    }
    spinlock_release(LOCK_VCPU_BASE + vm);
    if (page != NONE) {
        frame_remove_owner(page, p);
    }
}

uint32_t vcpu_check(void)
{
    for (uint32_t vm = 0u; vm < NUM_VM; vm = vm + 1u) {
        if (vcpu[vm].exists == VCPU_THERE) {
            if (vcpu[vm].process >= NUM_PROCESS || vcpu[vm].page >= NUM_FRAME) {
                return 1u;
            }
            uint64_t owners = frame_owners(vcpu[vm].page);
            if (owners != 1ul << vcpu[vm].process) {
                return 2u;
            }
            if (vcpu[vm].runner != NONE && vcpu[vm].cpu >= NUM_CPU) {
                return 3u;
            }
        }
    }
    return 0u;
}
