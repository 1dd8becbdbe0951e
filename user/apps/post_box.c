/* Takes one-way messages of every length, one after the other; then a call, to which it replies how many words were wrong,
 * before it waits again. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "post.h"

static void receive(uint32_t slot, struct message *message)
{
    uint32_t status = message_recv(slot, message);
    if (status != STATUS_OK) {
        panic("receiving failed: error %u\n", status);
    }
}

int main(void)
{
    uint32_t post = env_slot("endpoint.post");
    struct message message = {0};

    for (uint64_t round = 0;; round++) {
        uint64_t wrong = 0;
        for (uint64_t words = 0; words <= MESSAGE_MAX_WORDS; words++) {
            receive(post, &message);
            wrong += message.count != words;
            for (uint64_t i = 0; i < message.count; i++) {
                wrong += *word_of(&message, i) != pattern(round, i);
            }
        }
        receive(post, &message);
        message.count = 1;
        message.word[0] = wrong;
        uint32_t status = message_reply(&message);
        if (status != STATUS_OK) {
            panic("replying failed: error %u\n", status);
        }
    }
}
