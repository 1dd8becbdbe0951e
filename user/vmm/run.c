/* The loop that runs a virtual CPU: take what others have left for it, give it the interrupts it can take, run, emulate what
 * exited. */
#include "run.h"

#include "ashlar/syscall.h"
#include "clock.h"
#include "cpu/cpuid.h"
#include "cpu/debug.h"
#include "cpu/halt.h"
#include "cpu/ipi.h"
#include "cpu/msr.h"
#include "cpu/stuck.h"
#include "devices/console.h"
#include "devices/io.h"
#include "devices/mmio.h"
#include "machine.h"
#include "pci/passed.h"
#include "virtio/links.h"

static uint32_t is_first(const struct cpu *cpu)
{
    return cpu->number == 0;
}

/* ---- interrupts ---- */

/* The 8259 pair's requests reach the first CPU. Without the lock: a change that comes after this wakes the CPU. */
static uint32_t pic_waits(const struct cpu *cpu)
{
    return is_first(cpu) && __atomic_load_n(&machine.pic.output, __ATOMIC_SEQ_CST) != 0 &&
           lapic_passes_pic(&cpu->lapic);
}

/* Does an interrupt wait that the guest's controllers would deliver? */
static uint32_t interrupt_waits(const struct cpu *cpu)
{
    return cpu->lapic.output != 0 || pic_waits(cpu);
}

/* The vector of the 8259 pair's request, or 0 if it was withdrawn meanwhile. */
static uint32_t acknowledge_pic(struct cpu *cpu)
{
    uint32_t vector = 0;
    machine_lock(cpu);
    if (machine.pic.output != 0) {
        vector = pic_acknowledge(&machine.pic);
    }
    machine_unlock(cpu);
    return vector;
}

/* Takes the first request. Requires: interrupt_waits(). The 8259 pair goes first: its requests are not ranked among the local
 * controller's. */
static uint32_t acknowledge(struct cpu *cpu)
{
    uint32_t vector = 0;
    if (pic_waits(cpu)) {
        vector = acknowledge_pic(cpu);
    }
    if (vector == 0 && cpu->lapic.output != 0) {
        vector = cpu->lapic.output;
        lapic_acknowledge(&cpu->lapic);
    }
    return vector;
}

/* Puts what waits into the vcpu page if the guest can take it now, else asks for an exit as soon as it can. */
static void offer_interrupt(struct cpu *cpu)
{
    volatile uint64_t *vcpu = cpu->page;
    uint64_t control = 0;
    if (cpu->nmi && (vcpu[VCPU_INJECT] & INJECT_VALID) == 0) {
        cpu->nmi = 0;
        vcpu[VCPU_INJECT] = EXCEPTION_NMI | INJECT_NMI | INJECT_VALID;
    }
    if (interrupt_waits(cpu)) {
        if ((vcpu[VCPU_INJECT] & INJECT_VALID) == 0 && (vcpu[VCPU_RFLAGS] & RFLAGS_IF) != 0 &&
            vcpu[VCPU_INTERRUPT_SHADOW] == 0) {
            uint32_t vector = acknowledge(cpu);
            vcpu[VCPU_INJECT] = vector == 0 ? 0 : vector | INJECT_EXTERNAL | INJECT_VALID;
        }
        control = interrupt_waits(cpu) ? VCPU_CONTROL_INTERRUPT_WINDOW : 0;
    }
    vcpu[VCPU_CONTROL] = control;
}

/* ---- time, and what comes from outside: the first CPU's thread ---- */

/* A deadline has passed: a timer's edge, output that has waited long enough, the disk's, the network's, the
 * passed device's. */
static void handle_time(struct cpu *cpu)
{
    uint64_t now = clock_now();
    lapic_expire(&cpu->lapic, now);
    if (is_first(cpu) == 0) {
        return;
    }
    machine_lock(cpu);
    if (pit_expire(&machine.pit, now)) {
        machine_tick();
    }
    if (now >= console_deadline()) {
        console_flush(0, now);
    }
    if (now >= links_deadline()) {
        links_expire(now);
        bus_resume();
    }
    passed_expire(now);
    machine_unlock(cpu);
}

/* The CPU's notification has brought bits. Of the first CPU they may speak of console input, messages of a driver, or both: each
 * looks for itself whether there is anything, so that a bit that came twice or for nothing does no harm. */
static void handle_notification(struct cpu *cpu)
{
    uint64_t bits = cpu->bits & ~machine.woken;
    cpu->bits = 0;
    if (is_first(cpu) == 0 || bits == 0) {
        return;
    }
    machine_lock(cpu);
    console_fetch();
    if (links_exist()) {
        links_receive(bits);
        bus_resume();
    }
    machine_unlock(cpu);
}

static uint64_t next_deadline(const struct cpu *cpu)
{
    uint64_t next = cpu->lapic.next;
    if (is_first(cpu)) {
        uint64_t shared = machine_deadline();
        __atomic_store_n(&machine.watched, shared, __ATOMIC_SEQ_CST);
        next = shared < next ? shared : next;
    }
    return next;
}

/* ---- starting and stopping ---- */

/* An INIT message: the first CPU would run the firmware, if there is one, and that would start the machine anew. */
static void stop(struct cpu *cpu)
{
    if (is_first(cpu)) {
        machine_end(cpu, END_RESET, 0);
        return;
    }
    lapic_reset(&cpu->lapic);
    cpu->nmi = 0;
    cpu->state = CPU_WAITS;
}

static void take_inbox(struct cpu *cpu)
{
    struct inbox taken;
    if (inbox_is_full(&cpu->inbox) == 0) {
        return;
    }
    inbox_take(&cpu->inbox, &taken);
    if ((taken.events & INBOX_INIT) != 0) {
        stop(cpu);
    }
    if ((taken.events & INBOX_START) != 0 && cpu->state == CPU_WAITS) {
        vcpu_start_real(cpu->page, taken.events >> 8 & 0xff);
        cpu->state = CPU_RUNS;
    }
    if (cpu->state != CPU_WAITS) {
        cpu->nmi |= (taken.events & INBOX_NMI) != 0;
        lapic_take(&cpu->lapic, taken.interrupt, taken.level);
    }
}

/* Can only another CPU wake this one? */
static uint32_t is_stuck(const struct cpu *cpu)
{
    return cpu->state == CPU_WAITS || (cpu->state == CPU_HALTED && (cpu->page[VCPU_RFLAGS] & RFLAGS_IF) == 0);
}

/* ---- exits ---- */

static const char *port_access(struct cpu *cpu)
{
    machine_lock(cpu);
    io_exit(cpu);
    if (machine.request == END_NONE && machine.uart.out_length != 0 &&
        (console_wants_flush() || console_deadline() == ~0ul)) {
        console_flush(0, clock_now());
    }
    machine_unlock(cpu);
    return 0;
}

/* The guest's CPU waits for an interrupt; if the first one does, output needs to wait no longer. */
static const char *halt(struct cpu *cpu)
{
    cpu->state = CPU_HALTED;
    if (is_first(cpu) && machine.uart.out_length != 0) {
        machine_lock(cpu);
        console_flush(1, clock_now());
        machine_unlock(cpu);
    }
    return 0;
}

/* An exit of no instruction's may stand between the STI that lets interrupts in and its HLT. QEMU 7.2 forgets what STI holds back
 * when the guest is entered again: an interrupt would come before the HLT, and the guest, which waits for just that one, sleep
 * on. So it halts here, as if it had got so far, and is woken: to it, the interrupt has come an instruction later. */
static void halt_if_next(struct cpu *cpu)
{
    if (halt_is_next(cpu->page)) {
        cpu->page[VCPU_RIP] = cpu->page[VCPU_RIP] + 1;
        cpu->page[VCPU_INTERRUPT_SHADOW] = 0;
        halt(cpu);
    }
}

static const char *raise(struct cpu *cpu)
{
    if (cpu->page[VCPU_EXIT_INFO1] == EXCEPTION_GP) {
        vcpu_raise_gp(cpu->page);
    } else {
        vcpu_raise_ud(cpu->page);
    }
    return 0;
}

/* A PC starts anew then, and some kernels reboot so; one that starts without a firmware has crashed. */
static const char *triple_fault(struct cpu *cpu)
{
    if (machine.has_firmware == 0) {
        return "triple fault";
    }
    machine_end(cpu, END_RESET, 0);
    return 0;
}

/* Returns null, or why the guest cannot go on. */
static const char *handle_exit(struct cpu *cpu, uint64_t reason)
{
    switch (reason) {
    case VCPU_EXIT_IO:
        return port_access(cpu);
    case VCPU_EXIT_CPUID:
        cpuid_exit(cpu);
        return 0;
    case VCPU_EXIT_MSR_READ:
        msr_read_exit(cpu);
        return 0;
    case VCPU_EXIT_MSR_WRITE:
        msr_write_exit(cpu);
        return 0;
    case VCPU_EXIT_HALT:
        vcpu_skip(cpu->page, 1);
        return halt(cpu);
    case VCPU_EXIT_NONE:
    case VCPU_EXIT_INTERRUPT_WINDOW:
        halt_if_next(cpu);
        return 0;
    case VCPU_EXIT_DEADLINE:
        handle_time(cpu);
        halt_if_next(cpu);
        return 0;
    case VCPU_EXIT_NOTIFIED: {
        uint64_t bits = 0;
        sys_poll(cpu->wake, &bits);
        cpu->bits |= bits;
        halt_if_next(cpu);
        return 0;
    }
    case VCPU_EXIT_CACHE:
        vcpu_skip(cpu->page, 2);
        return 0;
    case VCPU_EXIT_INSTRUCTION:
        return raise(cpu);
    case VCPU_EXIT_DEBUG_REGISTER:
        debug_register_exit(cpu->page);
        return 0;
    case VCPU_EXIT_MACHINE_CHECK:
        return "the processor reported an error of the hardware (machine check)";
    case VCPU_EXIT_HYPERCALL: /* there are none: the instruction is undefined */
        vcpu_raise_ud(cpu->page);
        return 0;
    case VCPU_EXIT_MEMORY:
        return mmio_exit(cpu);
    case VCPU_EXIT_SHUTDOWN:
        return triple_fault(cpu);
    case VCPU_EXIT_INVALID_STATE:
        return "its processor state is invalid";
    default:
        return "an exit that the monitor does not handle";
    }
}

/* ---- the loop ---- */

/* From here on who leaves something for the CPU wakes it. Returns 0 if there is something already. */
static uint32_t go_away(struct cpu *cpu)
{
    __atomic_store_n(&cpu->away, 1, __ATOMIC_SEQ_CST);
    return inbox_is_full(&cpu->inbox) == 0 && machine_is_ending() == 0;
}

static void come_back(struct cpu *cpu)
{
    __atomic_store_n(&cpu->away, 0, __ATOMIC_SEQ_CST);
    if (is_first(cpu)) {
        __atomic_store_n(&machine.watched, ~0ul, __ATOMIC_SEQ_CST);
    }
}

static const char *run(struct cpu *cpu)
{
    uint64_t reason = VCPU_EXIT_NONE;
    offer_interrupt(cpu);
    uint32_t goes = go_away(cpu);
    uint32_t status = STATUS_OK;
    if (goes) {
        status = sys_vcpu_run(cpu->slot, next_deadline(cpu), cpu->wake, &reason);
    }
    come_back(cpu);
    if (status != STATUS_OK) {
        return "the kernel refused to run it";
    }
    cpu->exits[reason < CPU_EXITS ? reason : VCPU_EXIT_NONE]++;
    lapic_catch_up(&cpu->lapic);
    return handle_exit(cpu, reason);
}

/* The CPU has nothing to do, so its thread has nothing to do. */
static const char *rest(struct cpu *cpu)
{
    uint64_t bits = 0;
    uint32_t status = STATUS_OK;
    if (is_stuck(cpu)) {
        stuck_begin(cpu);
        if (all_are_stuck()) {
            machine_end(cpu, END_FAULTY, "it halted with interrupts off, for good");
        }
    }
    if (go_away(cpu)) {
        status = sys_wait(cpu->wake, next_deadline(cpu), &bits);
    }
    come_back(cpu);
    stuck_end(cpu);
    if (status == ERR_TIMEOUT) {
        handle_time(cpu);
    } else if (status != STATUS_OK) {
        return "the kernel refused to let the monitor wait";
    }
    cpu->bits |= bits;
    return 0;
}

static void wake_halted(struct cpu *cpu)
{
    uint32_t takes = (cpu->page[VCPU_RFLAGS] & RFLAGS_IF) != 0 && interrupt_waits(cpu);
    if (cpu->state == CPU_HALTED && (takes || cpu->nmi)) {
        cpu->state = CPU_RUNS;
    }
}

void run_cpu(struct cpu *cpu)
{
    while (machine_is_ending() == 0) {
        take_inbox(cpu);
        if (cpu->bits != 0) {
            handle_notification(cpu);
        }
        wake_halted(cpu);
        const char *fault = cpu->state == CPU_RUNS ? run(cpu) : rest(cpu);
        if (fault != 0) {
            machine_end(cpu, END_FAULTY, fault);
        }
    }
}
