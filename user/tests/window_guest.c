/* A guest that writes CR8, with interrupts off, while its monitor waits for its interrupt window: whether the write exits
 * or is made, everything else goes on. Prints `WINDOW-GUEST-DONE`. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "long_mode_guest.h"

#define ROUNDS 100u
#define SECOND 1000000000ul

extern const uint8_t window_begin[], window_end[];
__asm__(".pushsection .rodata\n"
        ".globl window_begin\n"
        "window_begin:\n"
        "    mov %rax, %cr8\n"
        "    hlt\n"
        ".globl window_end\n"
        "window_end:\n"
        ".popsection\n");

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

int main(void)
{
    uint32_t vm = env_slot_of_kind("vm");
    uint64_t refused = 0;

    require(sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE), "mapping memory");
    require(sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE | PROT_EXEC),
            "giving it to the guest");
    require(sys_vcpu_page(vm, VCPU_ADDRESS), "making the vcpu");
    long_mode_code(window_begin, window_end);
    long_mode_tables();
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t reason = VCPU_EXIT_NONE;
        long_mode_start();
        vcpu[VCPU_GPR] = i & 15;
        vcpu[VCPU_CONTROL] = VCPU_CONTROL_INTERRUPT_WINDOW;
        require(sys_vcpu_run(vm, sys_clock() + SECOND, NO_SLOT, &reason), "running the guest");
        refused += reason == VCPU_EXIT_UNSUPPORTED;
        if (reason != VCPU_EXIT_UNSUPPORTED && (reason != VCPU_EXIT_HALT || vcpu[VCPU_CR8] != (i & 15))) {
            panic("exit %lu with cr8 0x%lx in round %lu\n", reason, vcpu[VCPU_CR8], i);
        }
    }
    print("WINDOW-GUEST-DONE: %lu of %u writes of cr8 exited\n", refused, ROUNDS);
    return 0;
}
