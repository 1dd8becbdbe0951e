/* Handles the faults of bench_ipc on endpoint `faults`: each is the 2-byte instruction ud2, and is skipped. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t faults = env_slot("endpoint.faults");
    struct message message = {0};
    uint32_t status = message_recv(faults, &message);

    while (status == STATUS_OK) {
        message.word[0] = FAULT_SKIP;
        message.word[1] = message.word[3] + 2;
        message.count = 2;
        status = message_reply_recv(faults, &message);
    }
    panic("receiving failed: error %u\n", status);
}
