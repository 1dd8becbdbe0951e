/* Receives the faults of another process on endpoint `faults` and lets it go on where it said beforehand.
 * Requests of the process itself: word 0 = 1 "after a fault go on at word 1"; word 0 = 2 "what happened?", answered with
 * the vector of the last fault plus one, or 0 if there was none since the last question. */
#include "fault_handler.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t faults = env_slot("endpoint.faults");
    struct message message = {0};
    uint64_t resume = 0;
    uint64_t happened = 0;
    uint32_t status = message_recv(faults, &message);

    while (status == STATUS_OK) {
        if ((message.badge & FAULT_BADGE) != 0) {
            happened = message.word[0] + 1;
            message.word[0] = FAULT_SKIP;
            message.word[1] = resume;
            message.count = 2;
        } else if (message.word[0] == HANDLER_RESUME_AT) {
            resume = message.word[1];
            message.count = 0;
        } else {
            message.word[0] = happened;
            message.count = 1;
            happened = 0;
        }
        status = message_reply_recv(faults, &message);
    }
    panic("receiving failed: error %u\n", status);
}
