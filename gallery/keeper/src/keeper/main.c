/* Starts the guest, and starts it again each time it ends. More than `MOST` ends within an hour are a fault that starting again does
 * not mend: then it is left as it is. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define MOST 10u
#define HOUR 3600000000000ul /* ns */

static void start(uint32_t guest)
{
    uint32_t status = sys_process_create(guest);

    if (status == STATUS_OK) {
        status = sys_process_start(guest, 0, 0, 0);
    }
    if (status != STATUS_OK) {
        panic("the guest cannot be started: error %u\n", status);
    }
}

/* Waits until the guest has ended. A notification may come late, or for nothing: the guest's state is what counts. */
static uint64_t wait_for_end(uint32_t guest, uint32_t ends)
{
    uint64_t state = PROCESS_EMPTY, cause = 0, bits = 0;

    sys_process_status(guest, &state, &cause);
    while (state != PROCESS_EMPTY) {
        sys_wait(ends, DEADLINE_NEVER, &bits);
        sys_process_status(guest, &state, &cause);
    }
    return cause;
}

int main(void)
{
    uint32_t guest = env_slot("process.guest");
    uint32_t ends = env_slot("notification.ends");
    uint64_t end_at[MOST] = {0};

    for (uint32_t number = 0;; number++) {
        uint64_t began = sys_clock();
        start(guest);
        print("KEEPER the guest is started, number %u\n", number);
        uint64_t cause = wait_for_end(guest, ends);
        uint64_t now = sys_clock();
        print("KEEPER the guest has ended after %lu s, cause 0x%lx\n", (now - began) / 1000000000, cause);
        if (number >= MOST && now - end_at[number % MOST] < HOUR) {
            print("KEEPER the guest ends too often\n");
            return 1;
        }
        end_at[number % MOST] = now;
    }
}
