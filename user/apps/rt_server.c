/* The serving half of the real-time pair: a controller that integrates the samples its client calls it with and
 * answers with the command. Endpoint `control`; word 0 is the sample, the answer's word 0 the running sum. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t control = env_slot("endpoint.control");
    struct message message = {0};
    uint64_t sum = 0;
    uint32_t status = message_recv(control, &message);

    while (status == STATUS_OK) {
        sum += message.count > 0 ? message.word[0] : 0;
        message.word[0] = sum;
        message.count = 1;
        status = message_reply_recv(control, &message);
    }
    panic("receiving failed: error %u\n", status);
}
