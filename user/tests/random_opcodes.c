/* Executes what its parent has written into a shared page, from random registers, flags and selectors, again and again: after each
 * fault the parent lets it go on behind the first instruction of `begin`, with new code. Nothing that it needs stands where the code can write. */
#include "ashlar/env.h"
#include "ashlar/syscall.h"
#include "random_opcodes.h"

/* The assembly has these as numbers. */
_Static_assert(CODE_ADDRESS == 0x30000000ul && CODE_REGISTERS == 0x800 && CODE_RSP == 0x880 && CODE_ENTRY == 0x888,
               "page");
_Static_assert(CODE_SELECTORS == 0x890 && CODE_FLAGS == 0x8b0, "page");

void begin(void);
__asm__(".text\n"
        ".globl begin\n"
        "begin:\n"
        "    ud2\n" /* by this fault the parent learns where to let it go on: behind it */
        "    mov $0x30000000, %r15d\n"
        "    mov 0x890(%r15), %es\n    mov 0x898(%r15), %ds\n    mov 0x8a0(%r15), %fs\n    mov 0x8a8(%r15), %gs\n"
        "    mov 0x800(%r15), %rax\n    mov 0x808(%r15), %rbx\n    mov 0x810(%r15), %rcx\n    mov 0x818(%r15), %rdx\n"
        "    mov 0x820(%r15), %rsi\n    mov 0x828(%r15), %rdi\n    mov 0x830(%r15), %rbp\n    mov 0x838(%r15), %r8\n"
        "    mov 0x840(%r15), %r9\n    mov 0x848(%r15), %r10\n    mov 0x850(%r15), %r11\n    mov 0x858(%r15), %r12\n"
        "    mov 0x860(%r15), %r13\n    mov 0x868(%r15), %r14\n"
        "    lea 0x8b0(%r15), %rsp\n" /* popf reads only */
        "    popfq\n"
        "    mov 0x880(%r15), %rsp\n"
        "    jmp *0x888(%r15)\n");

int main(void)
{
    if (sys_share_accept(env_slot("share.code"), CODE_ADDRESS, PROT_READ | PROT_EXEC) != STATUS_OK) {
        return 1;
    }
    begin();
    return 1;
}
