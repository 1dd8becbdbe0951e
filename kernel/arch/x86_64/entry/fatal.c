/* An exception in the kernel itself: reports it on the serial port, stops every CPU, powers off. */
#include "entry/fatal.h"

#include "interrupt/apic.h"
#include "cpu/cpu.h"
#include "cpu/percpu.h"
#include "device/serial.h"

uint64_t nmi_count;       /* arch_nmi_entry counts here */
uint32_t machine_stopped; /* 1 after a fatal error: an NMI then halts its CPU */

static const char *const names[32] = {
    "divide error",
    "debug exception",
    "NMI",
    "breakpoint",
    "overflow",
    "bound range",
    "invalid opcode",
    "vector unit not available",
    "double fault",
    "coprocessor overrun",
    "invalid TSS",
    "segment not present",
    "stack segment fault",
    "general protection fault",
    "page fault",
    "reserved exception 15",
    "x87 error",
    "alignment check",
    "machine check",
    "SIMD error",
    "virtualisation exception",
    "control protection",
    "reserved exception 22",
    "reserved exception 23",
    "reserved exception 24",
    "reserved exception 25",
    "reserved exception 26",
    "reserved exception 27",
    "hypervisor injection",
    "VMM communication",
    "security exception",
    "reserved exception 31",
};

void fatal_text(const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\n') {
            serial_put_wait('\r');
        }
        serial_put_wait(*text);
    }
}

void fatal_hex(uint64_t value)
{
    fatal_text("0x");
    for (uint32_t shift = 64; shift > 0; shift -= 4) {
        serial_put_wait("0123456789abcdef"[value >> (shift - 4) & 15]);
    }
}

static void field(const char *name, uint64_t value)
{
    fatal_text(name);
    fatal_hex(value);
}

/* Only the first CPU reports its error. */
static void stop_others(void)
{
    if (__atomic_exchange_n(&machine_stopped, 1, __ATOMIC_SEQ_CST) != 0) {
        for (;;) {
            __asm__ volatile("cli\n\thlt");
        }
    }
    apic_stop_others();
    fatal_text("\x0e\x40\nkernel: fatal: ");
}

static void end_run(void)
{
    fatal_text("\nkernel: all processors stopped\n");
    arch_power_off(FATAL_CODE);
}

static void name_stack_overflow(uint64_t rsp)
{
    for (uint32_t thread = 0; thread < NUM_THREAD; thread++) {
        if (rsp >= STACK_GUARD(thread) - 64 && rsp <= STACK_GUARD(thread) + 4096 + 64) {
            field(" (kernel stack overflow of thread ", thread);
            fatal_text(")");
        }
    }
}

void fatal_exception(const uint64_t *word)
{
    uint64_t vector = word[UCTX_VECTOR] & 31;

    stop_others();
    fatal_text(names[vector]);
    if (vector == 8) {
        name_stack_overflow(word[UCTX_RSP]);
    }
    if (vector == 14) {
        fatal_text((word[UCTX_ERROR_CODE] & 16) != 0  ? " executing "
                   : (word[UCTX_ERROR_CODE] & 2) != 0 ? " writing "
                                                      : " reading ");
        fatal_hex(read_cr2());
    }
    field("\n  at rip ", word[UCTX_RIP]);
    field(" error code ", word[UCTX_ERROR_CODE]);
    field(" apic ", apic_id());
    field("\n  rsp ", word[UCTX_RSP]);
    field(" rflags ", word[UCTX_RFLAGS]);
    field(" cr3 ", read_cr3());
    field("\n  rax ", word[UCTX_RAX]);
    field(" rbx ", word[UCTX_RBX]);
    field(" rcx ", word[UCTX_RCX]);
    field("\n  rdx ", word[UCTX_RDX]);
    field(" rsi ", word[UCTX_RSI]);
    field(" rdi ", word[UCTX_RDI]);
    field("\n  rbp ", word[UCTX_RBP]);
    field(" r8  ", word[UCTX_R8]);
    field(" r9  ", word[UCTX_R9]);
    field("\n  r10 ", word[UCTX_R10]);
    field(" r11 ", word[UCTX_R11]);
    field(" r12 ", word[UCTX_R12]);
    field("\n  r13 ", word[UCTX_R13]);
    field(" r14 ", word[UCTX_R14]);
    field(" r15 ", word[UCTX_R15]);
    end_run();
}
