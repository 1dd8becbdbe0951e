/* Lets random_opcodes execute `sequences` of random instructions at ring 3, with odd registers, flags, selectors, stacks and
 * entries: takes its faults, writes new code, and lets it go on. A second thread ends it when nothing happens, because the
 * code loops or waits, and starts it anew. Then the kernel checks its tables. Argument `seed`. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/syscall.h"
#include "ashlar/thread.h"
#include "random_opcodes.h"

#define POLL_NS 2000000ul
#define STUCK_POLLS 3u
#define OWN_ADDRESS 0x40000000ul /* of the page, here */
#define FAULT_IP 3u
#define VECTOR_DEBUG 1u
#define UD2_BYTES 2u
#define PROLOGUE_MOST 256ul /* bytes of the child's code that sets registers */
#define NOP 0x90
#define VEX_SHORT 0xc5 /* prefixes of two and three bytes */
#define VEX_LONG 0xc4
#define VEX_MAP 0x1f /* second byte of the long one */
#define PINSRW 0xc4  /* map 1 */
#define PINSRB 0x20  /* map 3 */
#define PINSRD 0x22

static struct random random;
static uint64_t done, sequences;
static uint64_t again; /* where the child goes on, 0 until it has said so */
static uint32_t child, code, faults;
static uint64_t lives;

static uint64_t draw(uint64_t bound)
{
    return random_next(&random) % bound;
}

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

/* Instructions that change the mode, the stack, selectors, or ask for privileges. */
static const struct {
    uint8_t bytes;
    uint8_t code[8];
} odd[] = {
    {2, {0x0f, 0x05}}, /* syscall, sysret, sysretq, sysenter, sysexit */
    {2, {0x0f, 0x07}},
    {3, {0x48, 0x0f, 0x07}},
    {2, {0x0f, 0x34}},
    {2, {0x0f, 0x35}},
    {1, {0xcf}}, /* iret, iretq, retf, ret, retfq */
    {2, {0x48, 0xcf}},
    {1, {0xcb}},
    {1, {0xc3}},
    {2, {0x48, 0xcb}},
    {1, {0x9d}}, /* popf, pushf, enter, leave */
    {1, {0x9c}},
    {4, {0xc8, 0xff, 0xff, 0x1f}},
    {1, {0xc9}},
    {2, {0x8e, 0xd0}}, /* mov to ss, es, ds, fs, gs; pop fs, gs */
    {2, {0x8e, 0xc0}},
    {2, {0x8e, 0xd8}},
    {2, {0x8e, 0xe0}},
    {2, {0x8e, 0xe8}},
    {2, {0x0f, 0xa1}},
    {2, {0x0f, 0xa9}},
    {1, {0xf1}}, /* int1, int3, int, int 0x20, int 2 */
    {1, {0xcc}},
    {2, {0xcd, 0x80}},
    {2, {0xcd, 0x20}},
    {2, {0xcd, 0x02}},
    {1, {0xf4}}, /* hlt, cli, sti, in, out, wbinvd, clts */
    {1, {0xfa}},
    {1, {0xfb}},
    {1, {0xec}},
    {1, {0xee}},
    {2, {0x0f, 0x09}},
    {2, {0x0f, 0x06}},
    {3, {0x0f, 0x01, 0xf8}}, /* swapgs, rdtscp, xgetbv, xsetbv, monitor, mwait, vmrun, vmmcall, clac, stac */
    {3, {0x0f, 0x01, 0xf9}},
    {3, {0x0f, 0x01, 0xd0}},
    {3, {0x0f, 0x01, 0xd1}},
    {3, {0x0f, 0x01, 0xc8}},
    {3, {0x0f, 0x01, 0xc9}},
    {3, {0x0f, 0x01, 0xd8}},
    {3, {0x0f, 0x01, 0xd9}},
    {3, {0x0f, 0x01, 0xca}},
    {3, {0x0f, 0x01, 0xcb}},
    {3, {0x0f, 0x23, 0xf8}}, /* mov to dr7, cr4, cr8; from cr0 */
    {3, {0x0f, 0x22, 0xe0}},
    {4, {0x44, 0x0f, 0x22, 0xc0}},
    {3, {0x0f, 0x20, 0xc0}},
    {2, {0x0f, 0x32}}, /* rdmsr, wrmsr, rdpmc, cpuid, rdtsc */
    {2, {0x0f, 0x30}},
    {2, {0x0f, 0x33}},
    {2, {0x0f, 0xa2}},
    {2, {0x0f, 0x31}},
    {4, {0xf3, 0x48, 0x0f, 0xae}}, /* with the next byte: rdfsbase to wrgsbase */
    {3, {0x0f, 0xae, 0x08}},       /* fxrstor, fxsave, xrstor, ldmxcsr at (rax) */
    {3, {0x0f, 0xae, 0x00}},
    {3, {0x0f, 0xae, 0x28}},
    {3, {0x0f, 0xae, 0x10}},
    {2, {0xdf, 0xe0}}, /* fnstsw, fninit, fld1, addps: the vector unit */
    {2, {0xdb, 0xe3}},
    {2, {0xd9, 0xe8}},
    {3, {0x0f, 0x58, 0xc1}},
    {3, {0x0f, 0x00, 0xd8}}, /* ltr, lldt, str, verr; lgdt, lidt, sgdt, smsw */
    {3, {0x0f, 0x00, 0xd0}},
    {3, {0x0f, 0x00, 0xc8}},
    {3, {0x0f, 0x00, 0xe0}},
    {3, {0x0f, 0x01, 0x10}},
    {3, {0x0f, 0x01, 0x18}},
    {3, {0x0f, 0x01, 0x00}},
    {3, {0x0f, 0x01, 0xe0}},
    {2, {0xff, 0x28}}, /* far jump and call through (rax) */
    {2, {0xff, 0x18}},
};
#define NUM_ODD (sizeof odd / sizeof odd[0])

static uint64_t odd_word(void)
{
    switch (draw(7)) {
    case 0:
        return draw(NUM_SYSCALL + 2);
    case 1:
        return CODE_ADDRESS + draw(0x1000);
    case 2:
        return MESSAGE_VADDR + draw(0x1000);
    case 3:
        return 0xffffffff80200000ul + draw(0x20000);
    case 4:
        return 1ul << draw(64);
    case 5:
        return USER_END - draw(32);
    default:
        return random_next(&random);
    }
}

/* QEMU 7.2 ends on VPINSRB, W, D and Q in forms that processors refuse (256 bits, MMX registers): takes the prefix of these
 * instructions away wherever it would stand between `from` and `to`. */
static void spare_emulator(uint64_t from, uint64_t to)
{
    volatile uint8_t *byte = (volatile uint8_t *)OWN_ADDRESS;
    for (uint64_t i = from; i < to; i++) {
        uint32_t is_word = byte[i] == VEX_SHORT && byte[i + 2] == PINSRW;
        uint8_t map = byte[i + 1] & VEX_MAP, opcode = byte[i + 3];
        is_word |= byte[i] == VEX_LONG && map == 1 && opcode == PINSRW;
        if (is_word || (byte[i] == VEX_LONG && map == 3 && (opcode == PINSRB || opcode == PINSRD))) {
            byte[i] = NOP;
        }
    }
}

static void new_code(void)
{
    volatile uint8_t *byte = (volatile uint8_t *)OWN_ADDRESS;
    volatile uint64_t *word = (volatile uint64_t *)OWN_ADDRESS;
    static const uint16_t selectors[] = {0, 1, 3, 0x23, 0x2b, 0x20, 0x28, 0x08, 0x10, 0x30, 0x07, 0x1b};
    uint64_t at = CODE_START;
    for (uint64_t i = 1 + draw(6); i > 0; i--) {
        if (draw(3) == 0) {
            for (uint64_t k = 1 + draw(8); k > 0; k--) {
                byte[at++] = (uint8_t)random_next(&random);
            }
        } else {
            uint64_t which = draw(NUM_ODD);
            for (uint32_t k = 0; k < odd[which].bytes; k++) {
                byte[at++] = odd[which].code[k];
            }
        }
    }
    byte[at++] = 0x0f; /* ud2 */
    byte[at++] = 0x0b;
    for (uint32_t i = 0; i < 15; i++) {
        word[CODE_REGISTERS / 8 + i] = odd_word();
    }
    word[CODE_RSP / 8] = draw(4) == 0 ? odd_word() : MESSAGE_VADDR + 0x800;
    word[CODE_ENTRY / 8] = draw(32) == 0 ? odd_word() : CODE_ADDRESS + CODE_START;
    for (uint32_t i = 0; i < 4; i++) {
        word[CODE_SELECTORS / 8 + i] = draw(8) == 0 ? selectors[draw(sizeof selectors / sizeof selectors[0])] : 0;
    }
    word[CODE_FLAGS / 8] = draw(2) == 0 ? 0x202 : random_next(&random) & 0x3f7fd7;
    spare_emulator(CODE_START, at);
    spare_emulator(CODE_REGISTERS, CODE_FLAGS + 8);
}

static uint64_t child_state(void)
{
    uint64_t state = 0, cause = 0;
    require(sys_process_status(child, &state, &cause), "asking for the child");
    return state;
}

static void start_child(void)
{
    lives++;
    sys_share_withdraw(code);
    require(sys_share_offer(code, OWN_ADDRESS), "offering the page");
    require(sys_process_create(child), "creating the child");
    require(sys_process_start(child, 0, 0, 0), "starting the child");
}

/* The second thread: an end to code that loops, waits, or has ended its process. */
static void watch(uint64_t unused)
{
    uint64_t last = 0;
    uint32_t stuck = 0;
    (void)unused;
    while (done < sequences) {
        sys_sleep(sys_clock() + POLL_NS);
        stuck = done == last ? stuck + 1 : 0;
        last = done;
        if (stuck >= STUCK_POLLS && child_state() != PROCESS_EMPTY) {
            sys_process_kill(child);
        }
        if (child_state() == PROCESS_EMPTY) {
            start_child();
            stuck = 0;
        }
    }
}

int main(void)
{
    uint64_t broken = 0;
    sequences = env_arg_u64("sequences", 100000);
    random.state = env_arg_u64("seed", 1) | 1;
    child = env_slot_of_kind("process");
    code = env_slot("share.code");
    faults = env_slot("endpoint.faults");
    require(sys_mem_map(OWN_ADDRESS, 1, PROT_READ | PROT_WRITE), "mapping the page");
    new_code();
    start_child();
    require(thread_start(env_thread("watch"), watch, 0), "starting the watch");
    while (done < sequences) {
        struct message message = {0};
        require(message_recv(faults, &message), "waiting for a fault");
        if (again == 0) {
            again = message.word[FAULT_IP] + UD2_BYTES;
        }
        if (message.word[0] == VECTOR_DEBUG && message.word[FAULT_IP] - again < PROLOGUE_MOST) {
            /* Single steps, which the last code has turned on, through the part that sets new flags. */
            message.count = 1;
            message.word[0] = FAULT_RETRY;
            message_reply(&message);
            continue;
        }
        new_code();
        __atomic_store_n(&done, done + 1, __ATOMIC_RELAXED);
        message.count = 2;
        message.word[0] = FAULT_SKIP;
        message.word[1] = again;
        message_reply(&message);
    }
    require(sys_check(env_slot_of_kind("power"), &broken), "asking the kernel to check its tables");
    print("RANDOM-OPCODES %lu lives %lu check=%lu\n", done, lives, broken);
    return broken == 0 ? 0 : 1;
}
