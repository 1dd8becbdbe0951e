/* Makes system calls, with all its threads at once, until it dies of one or has made as many as its parent asked for. Half of
 * them are random: numbers mostly real ones, arguments that mix random words with values that come near to being right.
 * The others are such as a program would make: a slot that holds what the call works on, pages of a small window that
 * all threads map, share and unmap, deadlines that come soon. Calls that may block for ever, or that end the process, are made
 * rarely, since each costs a life. */
#include "random_calls.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/syscall.h"
#include "ashlar/thread.h"

#define RARE 64u            /* one in this many draws of a blocking or ending call is made */
#define NUM_SLOTS_DRAWN 12u /* few, so that most draws hit a slot that is granted */

#define MOST_THREADS 8u
#define WINDOW 0x10000000ul /* pages that well-formed calls name */
#define WINDOW_PAGES 8u
#define SOON_NS 50000u

struct caller {
    struct random random;
};

static uint64_t echo, own, event, items; /* slots */

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

static uint64_t draw(struct caller *caller, uint64_t bound)
{
    return random_next(&caller->random) % bound;
}

static uint64_t near_address(struct caller *caller)
{
    static const uint64_t bases[] = {
        0,        USER_BASE,        0x400000,   0x401000,           MESSAGE_VADDR,      ENV_VADDR,
        USER_END, PROGRESS_ADDRESS, 0x10000000, 0x0000800000000000, 0xffff800000000000, 0xffffffff80000000,
        ~0xffful};
    uint64_t address = bases[draw(caller, sizeof bases / sizeof bases[0])] + PAGE_SIZE * draw(caller, 8);
    return draw(caller, 8) == 0 ? address + draw(caller, PAGE_SIZE) : address;
}

static uint64_t argument(struct caller *caller)
{
    switch (draw(caller, 6)) {
    case 0:
        return draw(caller, 16);
    case 1:
        return draw(caller, NUM_SLOTS_DRAWN);
    case 2:
        return near_address(caller);
    case 3:
        return 1ul << draw(caller, 64);
    case 4:
        return sys_clock() + draw(caller, 100000);
    default:
        return random_next(&caller->random);
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

static uint64_t draw_number(struct caller *caller)
{
    for (;;) {
        uint64_t number = draw(caller, 64) == 0 ? random_next(&caller->random) : draw(caller, NUM_SYSCALL + 4);
        if (!costs_a_life(number) || draw(caller, RARE) == 0) {
            return number;
        }
    }
}

/* A call that a program might make. Registers: number rdi rsi, then the words rdx r10 r8 r9. */
static void well_formed(struct caller *caller, uint64_t registers[13])
{
    uint64_t page = WINDOW + PAGE_SIZE * draw(caller, WINDOW_PAGES);
    uint64_t soon = sys_clock() + draw(caller, SOON_NS);
    uint64_t count = 1 + draw(caller, 3);
    switch (draw(caller, 12)) {
    case 0:
        registers[0] = SYS_MEM_MAP;
        registers[1] = page;
        registers[2] = count;
        registers[3] = PROT_READ | draw(caller, 2) * PROT_WRITE;
        break;
    case 1:
        registers[0] = SYS_MEM_UNMAP;
        registers[1] = page;
        registers[2] = count;
        break;
    case 2:
        registers[0] = SYS_SLEEP;
        registers[1] = soon;
        break;
    case 3:
        registers[0] = draw(caller, 2) ? SYS_WAIT : SYS_POLL;
        registers[1] = event;
        registers[2] = soon;
        registers[3] = draw(caller, 2) * (1 + event);
        break;
    case 4:
        registers[0] = SYS_SIGNAL;
        registers[1] = event;
        break;
    case 5:
        registers[0] = SYS_CALL;
        registers[1] = echo;
        registers[2] = draw(caller, MESSAGE_MAX_WORDS + 2);
        break;
    case 6: /* may wait for ever: another thread's insertion, or the end of this life */
        registers[0] = draw(caller, 16) ? SYS_BUFFER_INSERT : SYS_BUFFER_REMOVE;
        registers[1] = items;
        break;
    case 7:
        registers[0] = draw(caller, 2) ? SYS_SHARE_OFFER : SYS_SHARE_WITHDRAW;
        registers[1] = draw(caller, NUM_SLOTS_DRAWN);
        registers[2] = page;
        break;
    case 8: /* there is no code: it dies, and all others with it */
        registers[0] = draw(caller, RARE) == 0 ? SYS_THREAD_START : SYS_CLOCK;
        registers[1] = draw(caller, 4);
        registers[2] = page;
        registers[3] = page + PAGE_SIZE;
        break;
    case 9:
        registers[0] = SYS_REPLY_RECV;
        registers[1] = draw(caller, RARE) == 0 ? own : echo;
        registers[2] = draw(caller, 4);
        break;
    case 10:
        registers[0] = SYS_DMA_ADDRESS;
        registers[1] = draw(caller, NUM_SLOTS_DRAWN);
        registers[2] = page;
        registers[3] = draw(caller, 2) ? DMA_PHYSICAL : PAGE_SIZE * draw(caller, WINDOW_PAGES);
        break;
    default:
        registers[0] = SYS_NULL;
        break;
    }
}

static void make_calls(uint64_t seed)
{
    volatile uint64_t *progress = (volatile uint64_t *)PROGRESS_ADDRESS;
    struct caller caller = {.random = {.state = seed | 1}};
    uint64_t registers[13];

    while (__atomic_fetch_add(&progress[PROGRESS_CALLS], 1, __ATOMIC_RELAXED) < progress[PROGRESS_LIMIT]) {
        for (uint32_t j = 1; j < 13; j++) {
            registers[j] = argument(&caller);
        }
        if (draw(&caller, 2) == 0) {
            well_formed(&caller, registers);
        } else {
            registers[0] = draw_number(&caller);
        }
        raw_call(registers);
    }
}

int main(void)
{
    volatile uint64_t *progress = (volatile uint64_t *)PROGRESS_ADDRESS;

    if (sys_share_accept(env_slot("share.progress"), PROGRESS_ADDRESS, PROT_READ | PROT_WRITE) != STATUS_OK) {
        return 1;
    }
    echo = env_slot("endpoint.echo");
    own = env_slot("endpoint.own");
    event = env_slot("notification.own_event");
    items = env_slot("buffer.items");
    uint64_t seed = progress[PROGRESS_SEED];
    for (uint32_t i = 1; i < MOST_THREADS && thread_start(i, make_calls, seed + 2 * i) == STATUS_OK; i++) {
    }
    make_calls(seed);
    return 0;
}
