/* Answers every call on endpoint `echo` at once with as many words as it got. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    struct message message = {0};
    uint32_t status = message_recv(echo, &message);

    while (status == STATUS_OK) {
        status = message_reply_recv(echo, &message);
    }
    panic("receiving failed: error %u\n", status);
}
