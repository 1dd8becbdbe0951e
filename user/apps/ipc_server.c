/* Answers every request on endpoint `echo` with its own words, each increased by one. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    struct message message = {0};
    uint32_t status = message_recv(echo, &message);

    print("SERVER ready\n");
    while (status == STATUS_OK) {
        for (uint64_t i = 0; i < message.count; i++) {
            if (i < MESSAGE_REGISTER_WORDS) {
                message.word[i]++;
            } else {
                message_page(0)[i]++;
            }
        }
        status = message_reply_recv(echo, &message);
    }
    panic("receiving failed: error %u\n", status);
}
