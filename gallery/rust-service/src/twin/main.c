/* What the service does with CALENDAR_PING, in C, at end point `twin`: to compare with. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "requests.h"

int main(void)
{
    uint32_t requests = env_slot("endpoint.twin");
    struct message message = {.count = 0};
    uint32_t status = message_recv(requests, &message);

    while (status == STATUS_OK) {
        if (message.count == 0 || message.word[0] != CALENDAR_PING) {
            message.count = 0;
        }
        status = message_reply_recv_inline(requests, &message);
    }
    panic("waiting for requests: error %u\n", status);
}
