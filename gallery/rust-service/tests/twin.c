/* The twin in C serves two clients, one of which asks for what it does not know, with the kernel's layers in this process. */
#define main twin
#include "../src/twin/main.c"
#undef main
#include <assert.h>

#include "ashlar/unit.h"

static int client(void)
{
    uint32_t slot = env_slot("endpoint.twin");

    for (uint64_t round = 0; round < 100; round++) {
        struct message message = {.count = 4, .word = {CALENDAR_PING, 1, 2, round}};
        if (message_call(slot, &message) != STATUS_OK || message.count != 4 || message.word[3] != round) {
            return 1;
        }
        sys_sleep(sys_clock() + 10000000ul);
    }
    print("client is done at %lu ms\n", sys_clock() / 1000000ul);
    return 0;
}

static int stranger(void)
{
    struct message message = {.count = 1, .word = {CALENDAR_PING + 1000}};

    return message_call(env_slot("endpoint.twin"), &message) == STATUS_OK && message.count == 0 ? 7 : 1;
}

int main(void)
{
    unit_begin();
    uint32_t serves = unit_process("twin", twin);
    uint32_t asks = unit_process("client", client);
    uint32_t errs = unit_process("stranger", stranger);
    unit_endpoint("twin", serves, asks);
    unit_endpoint("twin", serves, errs);
    unit_run(10 * UNIT_SECOND);
    assert(unit_exit_code(asks) == 0);
    assert(unit_exit_code(errs) == 7);
    assert(unit_exit_code(serves) == UNIT_RUNS);
    assert(unit_said(asks, "client is done at 1000 ms\n"));
    return 0;
}
