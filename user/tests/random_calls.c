/* Makes system calls with random numbers and arguments until it dies of one or has made as many as its parent asked for.
 * Numbers are mostly real ones; arguments mix random words with values that come near to being right. Calls that may
 * block for ever, or that end the process, are made rarely, since each costs a life. */
#include "random_calls.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/syscall.h"

#define RARE 64u            /* one in this many draws of a blocking or ending call is made */
#define NUM_SLOTS_DRAWN 12u /* few, so that most draws hit a slot that is granted */

static struct random random;

/* All registers of a call: rax rdi rsi rdx r10 r8 r9 r12 r13 r14 r15 rbx rbp. Makes it and forgets the results. */
void raw_call(const uint64_t registers[13]);
__asm__(".text\n"
        "raw_call:\n"
        "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rdi, %rcx\n"
        "    mov 0(%rcx), %rax\n    mov 8(%rcx), %rdi\n    mov 16(%rcx), %rsi\n    mov 24(%rcx), %rdx\n"
        "    mov 32(%rcx), %r10\n   mov 40(%rcx), %r8\n    mov 48(%rcx), %r9\n     mov 56(%rcx), %r12\n"
        "    mov 64(%rcx), %r13\n   mov 72(%rcx), %r14\n   mov 80(%rcx), %r15\n    mov 88(%rcx), %rbx\n"
        "    mov 96(%rcx), %rbp\n"
        "    syscall\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
        "    ret\n");

static uint64_t draw(uint64_t bound)
{
    return random_next(&random) % bound;
}

static uint64_t near_address(void)
{
    static const uint64_t bases[] = {
        0,        USER_BASE,        0x400000,   0x401000,           MESSAGE_VADDR,      ENV_VADDR,
        USER_END, PROGRESS_ADDRESS, 0x10000000, 0x0000800000000000, 0xffff800000000000, 0xffffffff80000000,
        ~0xffful};
    uint64_t address = bases[draw(sizeof bases / sizeof bases[0])] + PAGE_SIZE * draw(8);
    return draw(8) == 0 ? address + draw(PAGE_SIZE) : address;
}

static uint64_t argument(void)
{
    switch (draw(6)) {
    case 0:
        return draw(16);
    case 1:
        return draw(NUM_SLOTS_DRAWN);
    case 2:
        return near_address();
    case 3:
        return 1ul << draw(64);
    case 4:
        return sys_clock() + draw(100000);
    default:
        return random_next(&random);
    }
}

static int costs_a_life(uint64_t number)
{
    return number == SYS_THREAD_EXIT || number == SYS_PROCESS_EXIT || number == SYS_CALL || number == SYS_REPLY_RECV ||
           number == SYS_SEND || number == SYS_RECV || number == SYS_SLEEP || number == SYS_WAIT ||
           number == SYS_BUFFER_INSERT || number == SYS_BUFFER_REMOVE || number == SYS_VCPU_RUN ||
           number == SYS_MEM_UNMAP ||
           number == SYS_CHECK; /* in a debug build it takes as long as thousands of others */
}

static uint64_t draw_number(void)
{
    for (;;) {
        uint64_t number = draw(64) == 0 ? random_next(&random) : draw(NUM_SYSCALL + 4);
        if (!costs_a_life(number) || draw(RARE) == 0) {
            return number;
        }
    }
}

int main(void)
{
    volatile uint64_t *progress = (volatile uint64_t *)PROGRESS_ADDRESS;
    uint64_t registers[13];

    if (sys_share_accept(env_slot("share.progress"), PROGRESS_ADDRESS, PROT_READ | PROT_WRITE) != STATUS_OK) {
        return 1;
    }
    random.state = progress[PROGRESS_SEED] | 1;
    for (uint64_t i = 1; i <= progress[PROGRESS_LIMIT]; i++) {
        progress[PROGRESS_CALLS] = i;
        registers[0] = draw_number();
        for (uint32_t j = 1; j < 13; j++) {
            registers[j] = argument();
        }
        raw_call(registers);
    }
    return 0;
}
