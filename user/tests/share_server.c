/* Works for its callers at endpoint `work`: for as many nanoseconds as the request says. Answers how many they were, and how
 * many have passed. */
#include "meter.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

int main(void)
{
    uint32_t work = env_slot("endpoint.work");
    struct message message = {0};
    uint32_t status = message_recv(work, &message);

    while (status == STATUS_OK) {
        struct meter meter = meter_start();
        uint64_t begin = meter.last;
        while (meter.ran < message.word[0]) {
            meter_look(&meter);
        }
        message.count = 2;
        message.word[0] = meter.ran;
        message.word[1] = meter.last - begin;
        status = message_reply_recv(work, &message);
    }
    panic("receiving failed: error %u\n", status);
}
