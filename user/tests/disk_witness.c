/* Remembers, for clients of a disk that are killed, what was acknowledged to them. A client calls endpoint `witness`: word 0 is
 * the newest generation of which it knows that it is on the medium, or 0. The answer's word 0 is the newest that it has ever
 * named. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define MOST_CLIENTS 16u

int main(void)
{
    static uint64_t newest[MOST_CLIENTS];
    uint32_t slot = env_slot("endpoint.witness");
    struct message message = {0};
    uint32_t status = message_recv(slot, &message);

    while (status == STATUS_OK) {
        uint64_t *mine = &newest[message.badge % MOST_CLIENTS];
        if (message.count == 1 && message.word[0] > *mine) {
            *mine = message.word[0];
        }
        message.count = 1;
        message.word[0] = *mine;
        status = message_reply_recv(slot, &message);
    }
    panic("WITNESS receiving failed: error %u\n", status);
}
