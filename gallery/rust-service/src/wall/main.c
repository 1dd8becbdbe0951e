/* Shows date and time, once a second. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "requests.h"

#define NOW_WORDS 5u

int main(void)
{
    static const char *const name[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
    uint32_t calendar = env_slot("endpoint.calendar");

    for (;;) {
        struct message message = {.count = 1, .word = {CALENDAR_NOW}};
        uint32_t status = message_call(calendar, &message);
        if (status != STATUS_OK || message.count != NOW_WORDS || message.word[3] > 6) {
            panic("no time: error %u, %lu words\n", status, message.count);
        }
        uint64_t seconds = message.word[4];
        print("WALL %s, %lu-%lu-%lu, %lu h %lu min %lu s\n", name[message.word[3]], message.word[0], message.word[1],
              message.word[2], seconds / 3600, seconds / 60 % 60, seconds % 60);
        sys_sleep(sys_clock() + 1000000000ul);
    }
}
