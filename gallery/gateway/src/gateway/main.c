/* Hands frames from one guest to the other if `policy` lets them pass. It sees each frame as a copy that no guest can change. */
#include "ashlar/net_port.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#include "policy.h"

static const char *const side_name[] = {[OFFICE] = "office", [PLANT] = "plant"};
static const char *const reason[NUM_VERDICTS] = {
    [MALFORMED] = "malformed", [NOT_IPV4] = "not IPv4", [FRAGMENT] = "a fragment", [NOT_ALLOWED] = "not allowed"};

/* Says the first frame that is dropped for a reason, the second, the fourth and so on: a flood does not fill the console. */
static void note_drop(enum side from, enum verdict verdict)
{
    static uint64_t dropped[2][NUM_VERDICTS];
    uint64_t count = ++dropped[from][verdict];

    if ((count & (count - 1)) == 0) {
        print("GATEWAY dropped from %s, %s: %lu\n", side_name[from], reason[verdict], count);
    }
}

int main(void)
{
    /* Locally administered: no card that was made has these addresses. */
    static const uint8_t address[2][6] = {[OFFICE] = {0x02, 0, 0, 0, 0, 1}, [PLANT] = {0x02, 0, 0, 0, 0, 2}};
    static uint8_t frame[NET_PORT_FRAME];
    uint32_t bytes = 0;

    net_port_serve(OFFICE, "office", address[OFFICE]);
    net_port_serve(PLANT, "plant", address[PLANT]);
    print("GATEWAY up\n");
    for (;;) {
        enum side from = (enum side)net_port_await(frame, &bytes, DEADLINE_NEVER);
        enum verdict verdict = policy(from, frame, bytes);
        if (verdict == PASS) {
            net_port_send(from == OFFICE ? PLANT : OFFICE, frame, bytes);
        } else {
            note_drop(from, verdict);
        }
    }
}
