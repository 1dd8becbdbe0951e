/* Counts what a request to the service in Rust and one to its twin in C cost, by the clock. In the test the emulator counts
 * instructions, one a nanosecond, so that the numbers are instructions and the same in every run. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "requests.h"

#define ROUNDS 1000u
#define WORDS 4u

static void ask(uint32_t endpoint)
{
    struct message message = {.count = WORDS, .word = {CALENDAR_PING, 1, 2, 3}};
    uint32_t status = message_call(endpoint, &message);

    if (status != STATUS_OK || message.count != WORDS || message.word[3] != 3) {
        panic("a wrong answer: error %u, %lu words\n", status, message.count);
    }
}

/* Per round trip. The first ones find the service not waiting yet. */
static uint64_t cost(uint32_t endpoint)
{
    for (uint32_t i = 0; i < 10; i++) {
        ask(endpoint);
    }
    uint64_t began = sys_clock();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        ask(endpoint);
    }
    return (sys_clock() - began) / ROUNDS;
}

int main(void)
{
    uint64_t in_c = cost(env_slot("endpoint.twin"));
    uint64_t in_rust = cost(env_slot("endpoint.calendar"));

    print("METER a request of %u words: %lu to the service in C, %lu to that in Rust\n", WORDS, in_c, in_rust);
    print("METER Rust costs %s\n", in_rust * 50 <= in_c * 51 ? "no more" : "more");
    return 0;
}
