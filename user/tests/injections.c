/* A monitor whose guest does nothing but wait for interrupts and count them. Injects one again and again and checks that
 * the guest's handler ran once for each, and left its stack as it was. Another process, split_locks, meanwhile has the
 * machine stop all processors for moments, which an emulator must not take for a second interrupt. Prints
 * `INJECTIONS-DONE` after `count` of them. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "real_mode_guest.h"

#define COUNTER_GPA 0x2000ul
#define VECTOR 0x20u

/* The guest, in real mode. */
extern const uint8_t guest_begin[], guest_handler[], guest_end[];
__asm__(".pushsection .rodata\n"
        ".code16\n"
        "guest_begin:\n"
        "    hlt\n"
        "    jmp guest_begin\n"
        "guest_handler:\n"
        "    incl 0x2000\n"
        "    iret\n"
        "guest_end:\n"
        ".code64\n"
        ".popsection\n");

static void require(const char *what, uint32_t status)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

static void set_up(uint32_t vm)
{
    require("page of the vcpu", sys_vcpu_page(vm, VCPU_ADDRESS));
    require("memory", sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE));
    require("guest's memory", sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE | PROT_EXEC));
    real_mode_code(guest_begin, guest_end);
    real_mode_vector(VECTOR, (uint64_t)(guest_handler - guest_begin));
    real_mode_start(RFLAGS_IF);
}

static void run_until_halt(uint32_t vm)
{
    uint64_t reason = VCPU_EXIT_NONE;
    while (reason == VCPU_EXIT_NONE) {
        require("run", sys_vcpu_run(vm, DEADLINE_NEVER, NO_SLOT, &reason));
    }
    if (reason != VCPU_EXIT_HALT) {
        panic("exit %lu at ip 0x%lx\n", reason, vcpu[VCPU_RIP]);
    }
    vcpu[VCPU_RIP] = vcpu[VCPU_EXIT_NEXT_RIP];
    vcpu[VCPU_INTERRUPT_SHADOW] = 0;
}

int main(void)
{
    const volatile uint32_t *counter = (const volatile uint32_t *)(MEMORY_ADDRESS + COUNTER_GPA);
    uint32_t count = (uint32_t)env_arg_u64("count", 1000);
    uint32_t vm = env_slot_of_kind("vm");
    set_up(vm);
    run_until_halt(vm);
    for (uint32_t i = 1; i <= count; i++) {
        vcpu[VCPU_INJECT] = VECTOR | INJECT_EXTERNAL | INJECT_VALID;
        run_until_halt(vm);
        if (*counter != i || vcpu[VCPU_GPR + GPR_RSP] != STACK_TOP) {
            panic("%u interrupts injected, %u handled, stack at 0x%lx\n", i, *counter, vcpu[VCPU_GPR + GPR_RSP]);
        }
    }
    print("INJECTIONS-DONE\n");
    return 0;
}
