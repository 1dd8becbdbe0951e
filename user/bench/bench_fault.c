/* Handles the faults of bench_ipc on endpoint `faults`: each is the 2-byte instruction ud2, and is skipped. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t faults = env_slot("endpoint.faults");
    struct message message = {0};
    uint32_t status = message_recv(faults, &message);
    struct message request = message; /* in registers */

    while (status == STATUS_OK) {
        request.word[0] = FAULT_SKIP;
        request.word[1] = request.word[3] + 2;
        request.count = 2;
        status = message_reply_recv_inline(faults, &request);
    }
    panic("receiving failed: error %u\n", status);
}
