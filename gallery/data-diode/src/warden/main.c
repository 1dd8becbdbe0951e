/* Receives the faults of another process on endpoint `faults`, says what was tried, and leaves the thread that did it where
 * it is: it gets no answer, so it never runs again. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define PAGE_FAULT 14u
#define ERROR_PRESENT 1u /* bits of a page fault's error code */
#define ERROR_WRITE 2u

int main(void)
{
    const uint64_t denied = ERROR_PRESENT | ERROR_WRITE;
    uint32_t faults = env_slot("endpoint.faults");
    struct message fault = {0};
    uint32_t status;

    print("WARDEN watches\n");
    while ((status = message_recv(faults, &fault)) == STATUS_OK) {
        if (fault.word[0] == PAGE_FAULT && (fault.word[1] & denied) == denied) {
            print("WARDEN a write to a page that is only for reading, at 0x%lx\n", fault.word[2]);
        } else {
            print("WARDEN exception %lu at 0x%lx, error code %lu\n", fault.word[0], fault.word[2], fault.word[1]);
        }
    }
    panic("receiving: error %u\n", status);
}
