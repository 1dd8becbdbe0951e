/* A client of the scaling benchmark: calls the server behind endpoint `echo` with payloads of several sizes and counts
 * round trips. Time is cut into windows: for each payload first the client with argument `cpu` = 0 runs alone, then all run
 * at once. Prints `SCALING cpu payload alone|together count` and `BENCH-DONE`.
 * Arguments: `cpu` (default 0), `window_ms` (default 200), `start_ms` after boot (default 2000). A payload over one
 * message's 960 bytes is sent in several calls. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

static const uint64_t payloads[] = {0, 80, 400, 960, 2000};

static void send_payload(uint32_t echo, struct message *message, uint64_t bytes)
{
    uint64_t words = bytes / 8;

    do {
        message->count = words < MESSAGE_MAX_WORDS ? words : MESSAGE_MAX_WORDS;
        words -= message->count;
        uint32_t status = message_call(echo, message);
        if (status != STATUS_OK) {
            panic("call: error %u\n", status);
        }
    } while (words > 0);
}

static uint64_t count_until(uint32_t echo, uint64_t bytes, uint64_t end)
{
    struct message message = {0};
    uint64_t count = 0;

    while (sys_clock() < end) {
        for (uint32_t i = 0; i < 16; i++) {
            send_payload(echo, &message, bytes);
        }
        count += 16;
    }
    return count;
}

int main(void)
{
    uint32_t echo = env_slot("endpoint.echo");
    uint64_t cpu = env_arg_u64("cpu", 0);
    uint64_t window = env_arg_u64("window_ms", 200) * 1000000;
    uint64_t begin = env_arg_u64("start_ms", 2000) * 1000000;
    uint64_t alone[sizeof payloads / sizeof payloads[0]];
    uint64_t together[sizeof payloads / sizeof payloads[0]];

    for (uint32_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        sys_sleep(begin);
        alone[i] = cpu == 0 ? count_until(echo, payloads[i], begin + window) : 0;
        begin += window;
        sys_sleep(begin);
        together[i] = count_until(echo, payloads[i], begin + window);
        begin += window;
    }
    for (uint32_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        if (cpu == 0) {
            print("SCALING %lu %lu alone %lu\n", cpu, payloads[i], alone[i]);
        }
        print("SCALING %lu %lu together %lu\n", cpu, payloads[i], together[i]);
    }
    print("BENCH-DONE\n");
    return 0;
}
