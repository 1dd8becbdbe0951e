/* Sends messages of every length one way over endpoint `post`, and after each round of them calls to ask how many words
 * arrived wrong. Argument `rounds`: how often it goes through all lengths (default 10). */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "post.h"

static void send(uint32_t slot, uint64_t round, uint64_t words)
{
    struct message message = {.count = words};

    for (uint64_t i = 0; i < words; i++) {
        *word_of(&message, i) = pattern(round, i);
    }
    uint32_t status = message_send(slot, &message);
    if (status != STATUS_OK) {
        panic("sending %lu words: error %u\n", words, status);
    }
}

int main(void)
{
    uint32_t post = env_slot("endpoint.post");
    uint64_t rounds = env_arg_u64("rounds", 10);

    for (uint64_t round = 0; round < rounds; round++) {
        for (uint64_t words = 0; words <= MESSAGE_MAX_WORDS; words++) {
            send(post, round, words);
        }
        uint64_t wrong = round;
        uint32_t status = message_call1(post, &wrong);
        if (status != STATUS_OK || wrong != 0) {
            panic("round %lu: error %u, %lu words wrong\n", round, status, wrong);
        }
    }
    print("POST done: %lu messages, all words right\n", rounds * (MESSAGE_MAX_WORDS + 1));
    return 0;
}
