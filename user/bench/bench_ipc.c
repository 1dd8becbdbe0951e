/* Counts the instructions of the kernel's basic operations, user level to user level, with the time-stamp counter of an
 * emulator that adds one per instruction. Prints `BENCH name count` (the median of the rounds) for each and `BENCH-DONE`.
 *
 *   calibration  1,000 nops: anything but 1,000 means that the counter does not count instructions, and ends the run
 *   null_call    the system call that does nothing
 *   rtt_N        call and the answer of a server in another address space that waits in reply_recv, N words each way;
 *                words, count and badge of every answer are checked
 *   rust_rtt_N   the same with a server in Rust
 *   signal       from before the signal until the waiting process of higher priority runs, in another address space
 *   irq_to_user  from the last stamp of a spinning process until the process that waits for the interval timer's
 *                interrupt runs; the loop that stamps is short, so this is at most a few instructions too many
 *   fault_rtt    an undefined instruction, handled by another process, until the instruction after it */
#include "bench.h"
#include "bench_sample.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define PIT_COUNTER0 0u /* offsets in the port range 0x40..0x43 */
#define PIT_CONTROL 3u
#define PIT_ONE_SHOT 0x30u /* counter 0, low then high byte, mode 0 */
#define PIT_TICKS 400u     /* about 335 microseconds */

static volatile uint64_t *const board = (volatile uint64_t *)BOARD_ADDRESS;

/* Word i of a request; each round sends other words. */
static uint64_t word_of(uint32_t round, uint64_t i)
{
    return (uint64_t)round << 32 | (i + 1) * 0x01010101;
}

static void fill(struct message *message, uint32_t round, uint64_t words)
{
    uint64_t *page = message_page(0);

    for (uint64_t i = 0; i < MESSAGE_REGISTER_WORDS; i++) {
        message->word[i] = word_of(round, i);
    }
    for (uint64_t i = MESSAGE_REGISTER_WORDS; i < words; i++) {
        page[i] = word_of(round, i);
    }
    message->count = words;
    message->badge = ~0ul;
}

/* The answer must have the words of fill(), each combined with `mask`, as many as asked, and no badge. */
static void check(const struct message *answer, uint32_t round, uint64_t words, uint64_t mask)
{
    const uint64_t *page = message_page(0);

    if (answer->count != words || answer->badge != 0) {
        panic("answer to %lu words: count %lu, badge %lu: error 1\n", words, answer->count, answer->badge);
    }
    for (uint64_t i = 0; i < words; i++) {
        uint64_t word = i < MESSAGE_REGISTER_WORDS ? answer->word[i] : page[i];
        if (word != (word_of(round, i) ^ mask)) {
            panic("answer to %lu words: word %lu is 0x%lx: error 2\n", words, i, word);
        }
    }
}

/* Messages of every odd length come back inverted: each word has travelled both ways. */
static void odd_lengths(uint32_t echo)
{
    struct message message;

    for (uint32_t words = 1; words < MESSAGE_MAX_WORDS; words += 2) {
        fill(&message, words, words);
        require(message_call(echo, &message), "call");
        check(&message, words, words, ~0ul);
        fill(&message, words, words);
        require(message_call_inline(echo, &message), "call");
        check(&message, words, words, ~0ul);
    }
}

/* Counts the round trip of messages of `words` words. `exchange` sends and answers `mail`, which the compiler keeps in
 * registers. */
#define ROUND_TRIP(name, words, exchange)                                                                              \
    do {                                                                                                               \
        for (uint32_t round = 0; round < WARM_UP + ROUNDS; round++) {                                                  \
            struct message message;                                                                                    \
            fill(&message, round, words);                                                                              \
            struct message mail = message;                                                                             \
            uint64_t begin = timestamp();                                                                              \
            uint32_t status = exchange;                                                                                \
            uint64_t end = timestamp();                                                                                \
            require(status, "call");                                                                                   \
            message = mail;                                                                                            \
            check(&message, round, words, 0);                                                                          \
            if (round >= WARM_UP) {                                                                                    \
                sample[round - WARM_UP] = end - begin - overhead;                                                      \
            }                                                                                                          \
        }                                                                                                              \
        report(name);                                                                                                  \
    } while (0)

static void round_trips(uint32_t echo, const char *const names[4])
{
    odd_lengths(echo);
    ROUND_TRIP(names[0], 0,
               message_fast(SYS_CALL, echo, &mail.count, &mail.badge, &mail.word[0], &mail.word[1], &mail.word[2],
                            &mail.word[3]));
    ROUND_TRIP(names[1], 4,
               message_fast(SYS_CALL, echo, &mail.count, &mail.badge, &mail.word[0], &mail.word[1], &mail.word[2],
                            &mail.word[3]));
    ROUND_TRIP(names[2], 10, message_call_inline(echo, &mail));
    ROUND_TRIP(names[3], MESSAGE_MAX_WORDS, message_call_inline(echo, &mail));
}

static void signals(uint32_t wake)
{
    for (uint32_t round = 0; round < WARM_UP + ROUNDS; round++) {
        uint64_t begin = timestamp();
        sys_signal(wake);
        /* The waiter has a higher priority and this CPU: it has run and waits again by now. */
        if (round >= WARM_UP) {
            sample[round - WARM_UP] = board[BOARD_WOKEN] - begin - overhead;
        }
    }
    report("signal");
}

static void interrupts(uint32_t ports)
{
    uint32_t ticks = PIT_TICKS;
    for (uint32_t round = 0; round < WARM_UP + ROUNDS; round++) {
        uint64_t served = board[BOARD_ROUND];
        require(sys_port_out(ports, PIT_CONTROL, 1, PIT_ONE_SHOT), "setting the interval timer");
        require(sys_port_out(ports, PIT_COUNTER0, 1, ticks & 0xff), "setting the interval timer");
        require(sys_port_out(ports, PIT_COUNTER0, 1, ticks >> 8), "setting the interval timer");
        while (board[BOARD_ROUND] == served) {
            board[BOARD_NOW] = timestamp();
        }
        /* The interrupt may strike between a stamp and its store; then the waiter's stamp is older than ours. */
        uint64_t taken = board[BOARD_WOKEN] - board[BOARD_NOW];
        if (taken >> 63 != 0) {
            ticks++; /* counted time repeats itself: the same wait would end at the same place for ever */
            round--;
            continue;
        }
        if (round >= WARM_UP) {
            sample[round - WARM_UP] = taken;
        }
    }
    report("irq_to_user");
}

int main(void)
{
    static const char *const in_c[4] = {"rtt_0", "rtt_4", "rtt_10", "rtt_120"};
    static const char *const in_rust[4] = {"rust_rtt_0", "rust_rtt_4", "rust_rtt_10", "rust_rtt_120"};
    uint32_t wake = env_slot("notification.wake");

    calibrate();
    MEASURE("null_call", require(sys_null(), "null call"));
    round_trips(env_slot("endpoint.echo"), in_c);
    round_trips(env_slot("endpoint.echo_rust"), in_rust);
    require(sys_mem_map(BOARD_ADDRESS, 1, PROT_READ | PROT_WRITE), "mapping the board");
    require(sys_share_offer(env_slot("share.board"), BOARD_ADDRESS), "offering the board");
    sys_signal(wake);
    if (board[BOARD_ROUND] == 0) {
        panic("the waiter did not run: it must have a higher priority on the same processor\n");
    }
    signals(wake);
    interrupts(env_slot_of_kind("device"));
    MEASURE("fault_rtt", __asm__ volatile("ud2" ::: "memory"));
    print("BENCH-DONE\n");
    return 0;
}
