/* The loop that runs the guest: give it the interrupts it can take, run, emulate what exited. */
#include "run.h"

#include "ashlar/syscall.h"
#include "clock.h"
#include "cpu/cpuid.h"
#include "cpu/debug.h"
#include "cpu/msr.h"
#include "cpu/vcpu.h"
#include "devices/console.h"
#include "devices/io.h"
#include "devices/mmio.h"
#include "virtio/links.h"

static const struct run_end going_on = {RUN_FAULT, 0};

static struct run_end fault(const char *why)
{
    return (struct run_end){RUN_FAULT, why};
}

/* Does an interrupt wait that the guest's controllers would deliver? */
static inline uint32_t interrupt_waits(void)
{
    return machine.lapic.output != 0 || (machine.pic.output != 0 && lapic_passes_pic(&machine.lapic));
}

/* Puts the controllers' request into the vcpu page if the guest can take it now, else asks for an exit as soon as it
 * can. The 8259 pair goes first: its requests are not ranked among the local controller's. */
static void offer_interrupt(void)
{
    uint64_t control = 0;
    if (interrupt_waits()) {
        if ((vcpu[VCPU_INJECT] & INJECT_VALID) == 0 && (vcpu[VCPU_RFLAGS] & RFLAGS_IF) != 0 &&
            vcpu[VCPU_INTERRUPT_SHADOW] == 0) {
            uint32_t vector = machine.lapic.output;
            if (machine.pic.output != 0 && lapic_passes_pic(&machine.lapic)) {
                vector = pic_acknowledge(&machine.pic);
            } else {
                lapic_acknowledge(&machine.lapic);
            }
            vcpu[VCPU_INJECT] = vector | INJECT_EXTERNAL | INJECT_VALID;
        }
        control = interrupt_waits() ? VCPU_CONTROL_INTERRUPT_WINDOW : 0;
    }
    vcpu[VCPU_CONTROL] = control;
}

static uint64_t next_deadline(void)
{
    uint64_t next = console_deadline();
    next = links_deadline() < next ? links_deadline() : next;
    next = machine.pit.next < next ? machine.pit.next : next;
    return machine.lapic.next < next ? machine.lapic.next : next;
}

/* A deadline has passed: a timer's edge, output that has waited long enough, the disk's, the network's. */
static void handle_time(void)
{
    uint64_t now = clock_now();
    lapic_expire(&machine.lapic, now);
    if (pit_expire(&machine.pit, now)) {
        pic_pulse(&machine.pic, 0);
    }
    if (now >= console_deadline()) {
        console_flush(0, now);
    }
    if (now >= links_deadline()) {
        links_expire(now);
        bus_resume();
    }
}

/* The monitor's notification has brought `bits`: console input, messages of a driver, or both. Each looks for itself whether
 * there is anything, so that a bit that came twice or for nothing does no harm. */
static void handle_notification(uint64_t bits)
{
    console_fetch();
    if (links_have_disk() || links_have_network()) {
        links_receive(bits);
        bus_resume();
    }
}

static void handle_notified(uint32_t wake)
{
    uint64_t bits = 0;
    sys_poll(wake, &bits);
    handle_notification(bits);
}

/* The guest waits for an interrupt: so does the monitor, for the timer, console input, the disk or the network. */
static struct run_end halt(uint32_t wake)
{
    vcpu_skip(1);
    console_flush(1, clock_now());
    if (interrupt_waits() == 0 && (vcpu[VCPU_RFLAGS] & RFLAGS_IF) == 0) {
        return fault("it halted with interrupts off, for good");
    }
    while (interrupt_waits() == 0) {
        uint64_t deadline = next_deadline(), bits = 0;
        uint32_t status;
        if (wake == NO_SLOT) {
            status = sys_sleep(deadline) == STATUS_OK ? ERR_TIMEOUT : ERR_BAD_ARGUMENT;
        } else {
            status = sys_wait(wake, deadline, &bits);
        }
        if (status == ERR_TIMEOUT) {
            handle_time();
        } else if (status == STATUS_OK) {
            handle_notification(bits);
        } else {
            return fault("the kernel refused to let the monitor wait");
        }
    }
    return going_on;
}

static struct run_end port_access(void)
{
    io_exit();
    if (machine.request == IO_REQUEST_POWER_OFF) {
        return (struct run_end){RUN_POWER_OFF, 0};
    }
    if (machine.request == IO_REQUEST_RESET) {
        return (struct run_end){RUN_RESET, 0};
    }
    if (machine.uart.out_length != 0 && (console_wants_flush() || console_deadline() == ~0ul)) {
        console_flush(0, clock_now());
    }
    return going_on;
}

static struct run_end handle_exit(uint64_t reason, uint32_t wake)
{
    switch (reason) {
    case VCPU_EXIT_IO:
        return port_access();
    case VCPU_EXIT_CPUID:
        cpuid_exit();
        return going_on;
    case VCPU_EXIT_MSR_READ:
        msr_read_exit();
        return going_on;
    case VCPU_EXIT_MSR_WRITE:
        msr_write_exit();
        return going_on;
    case VCPU_EXIT_HALT:
        return halt(wake);
    case VCPU_EXIT_NONE:
    case VCPU_EXIT_INTERRUPT_WINDOW:
        return going_on;
    case VCPU_EXIT_DEADLINE:
        handle_time();
        return going_on;
    case VCPU_EXIT_NOTIFIED:
        handle_notified(wake);
        return going_on;
    case VCPU_EXIT_CACHE:
        vcpu_skip(2);
        return going_on;
    case VCPU_EXIT_INSTRUCTION:
        if (vcpu[VCPU_EXIT_INFO1] == EXCEPTION_GP) {
            vcpu_raise_gp();
        } else {
            vcpu_raise_ud();
        }
        return going_on;
    case VCPU_EXIT_DEBUG_REGISTER:
        debug_register_exit();
        return going_on;
    case VCPU_EXIT_MACHINE_CHECK:
        return fault("the processor reported an error of the hardware (machine check)");
    case VCPU_EXIT_HYPERCALL: /* there are none: the instruction is undefined */
        vcpu_raise_ud();
        return going_on;
    case VCPU_EXIT_MEMORY:
        return fault(mmio_exit());
    case VCPU_EXIT_SHUTDOWN:
        return fault("triple fault");
    case VCPU_EXIT_INVALID_STATE:
        return fault("its processor state is invalid");
    default:
        return fault("an exit that the monitor does not handle");
    }
}

struct run_end run_guest(uint32_t vm, uint32_t wake)
{
    struct run_end end = going_on;
    while (end.kind == RUN_FAULT && end.why == 0) {
        uint64_t reason = 0;
        offer_interrupt();
        if (sys_vcpu_run(vm, next_deadline(), wake, &reason) != STATUS_OK) {
            return fault("the kernel refused to run it");
        }
        lapic_catch_up(&machine.lapic);
        end = handle_exit(reason, wake);
    }
    return end;
}
