/* Answers every call on endpoint `echo` at once with as many words as it got: the same words if their number is even,
 * inverted if it is odd, so that a client that asks with both sees that each word travels both ways. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

static void invert(struct message *message)
{
    uint64_t *page = message_page(0);

    for (uint32_t i = 0; i < MESSAGE_REGISTER_WORDS; i++) {
        message->word[i] = ~message->word[i];
    }
    for (uint64_t i = MESSAGE_REGISTER_WORDS; i < message->count; i++) {
        page[i] = ~page[i];
    }
}

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    struct message message = {0};
    uint32_t status = message_recv(echo, &message);
    struct message request = message; /* in registers */

    while (status == STATUS_OK) {
        if (request.count % 2 != 0) {
            message = request;
            invert(&message);
            request = message;
        }
        status = message_reply_recv_inline(echo, &request);
    }
    panic("receiving failed: error %u\n", status);
}
