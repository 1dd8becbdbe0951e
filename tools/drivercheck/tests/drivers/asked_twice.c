/* Does not answer a question about a second job: the protocol allows one. */
#include "ashlar/driver.h"
#include "work_protocol.h"

void driver(void)
{
    uint32_t was_ordered = 0;

    for (;;) {
        uint32_t mailbox = AWAIT(WORK_ORDER, WORK_ASK, WORK_LEAVE);
        if (mailbox == WORK_ORDER) {
            was_ordered = was_ordered + 1u;
        } else if (mailbox == WORK_ASK) {
            if (was_ordered < 2u) {
                EMIT(WORK_TELL);
            }
        } else {
            EMIT(WORK_LEFT);
        }
    }
}
