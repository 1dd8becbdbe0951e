/* Does not answer a question about a job before any was ordered: the protocol allows none. */
#include "ashlar/driver.h"
#include "work_protocol.h"

void driver(void)
{
    uint32_t was_ordered = 0;

    for (;;) {
        uint32_t mailbox = AWAIT(WORK_ORDER, WORK_ASK, WORK_LEAVE);
        if (mailbox == WORK_ORDER) {
            was_ordered = 1;
        } else if (mailbox == WORK_ASK) {
            if (was_ordered) {
                EMIT(WORK_TELL);
            }
        } else {
            EMIT(WORK_LEFT);
        }
    }
}
