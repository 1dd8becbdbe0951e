/* A client of the scaling benchmark, which counts units of work in windows of equal length. For each kind of work the client
 * with argument `cpu` = 0 first runs alone; then it wakes the other one, both meet at a barrier in a page that they share,
 * and run at once from the same moment on. Two kinds share nothing, and so tell what the machine itself allows: `user`,
 * which only computes, and `null`, which only makes the system call that does nothing. The others are calls of the server
 * behind endpoint `echo`, by bytes of payload.
 * Prints `SCALING cpu work alone|together count` and `BENCH-DONE`.
 * Arguments: `cpu` (default 0), `window_ms` (default 200). A payload over one message's 960 bytes is sent in several
 * calls. */
#include "bench.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define USER_STEPS 1000u /* of one unit of `user` */

enum kind { USER, NULL_CALL, MESSAGE };

static const struct {
    enum kind kind;
    uint64_t bytes; /* of a message */
    const char *name;
} works[] = {
    {USER, 0, "user"},     {NULL_CALL, 0, "null"}, {MESSAGE, 0, "0"},       {MESSAGE, 80, "80"},
    {MESSAGE, 400, "400"}, {MESSAGE, 960, "960"},  {MESSAGE, 2000, "2000"},
};

#define NUM_WORK (sizeof works / sizeof works[0])

/* The shared page. Each client writes one line; rounds count from 1. */
struct board {
    _Alignas(64) uint64_t ready; /* the round for which the second client waits, written by it */
    uint64_t done;               /* the round it has finished */
    _Alignas(64) uint64_t begin; /* of the round, ns since boot; written by the first client before `start` */
    uint64_t start;              /* the round that may begin */
};

static struct board *const board = (struct board *)BOARD_ADDRESS;

static void publish(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Both clients run, so the wait is short. */
static void await(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        __asm__ volatile("pause");
    }
}

static void require(uint32_t status, const char *what)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", what, status);
    }
}

static void send_payload(uint32_t echo, struct message *message, uint64_t bytes)
{
    uint64_t words = bytes / 8;

    do {
        message->count = words < MESSAGE_MAX_WORDS ? words : MESSAGE_MAX_WORDS;
        words -= message->count;
        require(message_call(echo, message), "call");
    } while (words > 0);
}

/* Dependent steps in registers and on the stack. */
static void compute(void)
{
    volatile uint64_t state[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    for (uint32_t i = 0; i < USER_STEPS; i++) {
        state[i % 8] = state[i % 8] * 6364136223846793005ul + state[(i + 1) % 8];
    }
}

static uint64_t count_until(uint32_t echo, uint32_t work, uint64_t end)
{
    struct message message = {0};
    uint64_t count = 0;

    while (sys_clock() < end) {
        for (uint32_t i = 0; i < 16; i++) {
            switch (works[work].kind) {
            case USER:
                compute();
                break;
            case NULL_CALL:
                require(sys_null(), "null call");
                break;
            case MESSAGE:
                send_payload(echo, &message, works[work].bytes);
                break;
            }
        }
        count += 16;
    }
    return count;
}

static void report(uint64_t cpu, uint32_t work, const char *kind, uint64_t count)
{
    print("SCALING %lu %s %s %lu\n", cpu, works[work].name, kind, count);
}

static void first_client(uint32_t echo, uint64_t window)
{
    uint64_t alone[NUM_WORK];
    uint64_t together[NUM_WORK];
    uint32_t go = env_slot("notification.go");

    require(sys_mem_map(BOARD_ADDRESS, 1, PROT_READ | PROT_WRITE), "mapping the board");
    require(sys_share_offer(env_slot("share.board"), BOARD_ADDRESS), "offering the board");
    for (uint32_t i = 0; i < NUM_WORK; i++) {
        uint64_t round = i + 1;
        alone[i] = count_until(echo, i, sys_clock() + window);
        require(sys_signal(go), "waking the other client");
        await(&board->ready, round);
        board->begin = sys_clock();
        publish(&board->start, round);
        together[i] = count_until(echo, i, board->begin + window);
        await(&board->done, round);
    }
    for (uint32_t i = 0; i < NUM_WORK; i++) {
        report(0, i, "alone", alone[i]);
        report(0, i, "together", together[i]);
    }
}

static void second_client(uint32_t echo, uint64_t window)
{
    uint64_t together[NUM_WORK];
    uint32_t go = env_slot("notification.go");

    for (uint32_t i = 0; i < NUM_WORK; i++) {
        uint64_t round = i + 1;
        uint64_t bits = 0;
        require(sys_wait(go, DEADLINE_NEVER, &bits), "waiting for the other client");
        if (i == 0) {
            require(sys_share_accept(env_slot("share.board"), BOARD_ADDRESS, PROT_READ | PROT_WRITE),
                    "accepting the board");
        }
        publish(&board->ready, round);
        await(&board->start, round);
        together[i] = count_until(echo, i, board->begin + window);
        publish(&board->done, round);
    }
    for (uint32_t i = 0; i < NUM_WORK; i++) {
        report(1, i, "together", together[i]);
    }
}

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    uint64_t window = env_arg_u64("window_ms", 200) * 1000000;

    if (env_arg_u64("cpu", 0) == 0) {
        first_client(echo, window);
    } else {
        second_client(echo, window);
    }
    print("BENCH-DONE\n");
    return 0;
}
