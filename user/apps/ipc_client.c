/* Calls the server behind endpoint `echo` with messages of every length and checks each word of each answer.
 * Argument `rounds`: how often it goes through all lengths (default 100). */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

static uint64_t pattern(uint64_t round, uint64_t index)
{
    return (round * 1000003u + index) * 0x9e3779b97f4a7c15ul;
}

static uint64_t *word_of(struct message *message, uint64_t index)
{
    return index < MESSAGE_REGISTER_WORDS ? &message->word[index] : &message_page(0)[index];
}

static void exchange(uint32_t slot, uint64_t round, uint64_t words)
{
    struct message message = {.count = words};

    for (uint64_t i = 0; i < words; i++) {
        *word_of(&message, i) = pattern(round, i);
    }
    uint32_t status = message_call(slot, &message);
    if (status != STATUS_OK) {
        panic("call with %lu words: error %u\n", words, status);
    }
    if (message.count != words) {
        panic("call with %lu words: %lu came back\n", words, message.count);
    }
    for (uint64_t i = 0; i < words; i++) {
        if (*word_of(&message, i) != pattern(round, i) + 1) {
            panic("call with %lu words: word %lu is wrong\n", words, i);
        }
    }
}

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    uint64_t rounds = env_arg_u64("rounds", 100);

    for (uint64_t round = 0; round < rounds; round++) {
        for (uint64_t words = 0; words <= MESSAGE_MAX_WORDS; words++) {
            exchange(echo, round, words);
        }
    }
    print("CLIENT done: %lu calls, all answers right\n", rounds * (MESSAGE_MAX_WORDS + 1));
    return 0;
}
