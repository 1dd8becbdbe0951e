/* A network of the guests that name it: hands each frame to the guest with the address that it is sent to, as far as that is known,
 * else to all others. */
#include "abi.h"
#include "ashlar/env.h"
#include "ashlar/net_port.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define ADDRESS 6u
#define KNOWN_MOST 64u /* addresses; the oldest makes room */

struct known {
    uint8_t address[ADDRESS];
    uint32_t port;
};

static struct known known[KNOWN_MOST];
static uint32_t num_known, next_known;

static struct known *find(const uint8_t *address)
{
    for (uint32_t i = 0; i < num_known; i++) {
        if (memcmp(known[i].address, address, ADDRESS) == 0) {
            return &known[i];
        }
    }
    return 0;
}

/* Frames from `address` come from `port`. A group is no sender. */
static void learn(const uint8_t *address, uint32_t port)
{
    struct known *entry = find(address);

    if ((address[0] & 1) != 0) {
        return;
    }
    if (entry == 0) {
        entry = &known[next_known];
        next_known = (next_known + 1) % KNOWN_MOST;
        num_known = num_known < KNOWN_MOST ? num_known + 1 : num_known;
        memcpy(entry->address, address, ADDRESS);
    }
    entry->port = port;
}

/* Serves every guest to which the description gives a link. Returns how many these are. */
static uint32_t serve_all(void)
{
    char self[32], prefix[64], client[32];
    uint32_t number = 0;

    env_name(self, sizeof self);
    format(prefix, sizeof prefix, "slot.share.%s-ethernet-", self);
    for (;;) {
        const char *value;
        size_t length = 0, value_length = 0;
        const char *name = env_text_entry((const char *)ENV_VADDR, prefix, number, &length, &value, &value_length);
        if (name == 0) {
            return number;
        }
        if (length >= sizeof client || number == NET_PORTS) {
            panic("more guests, or a longer name, than this switch can serve\n");
        }
        memcpy(client, name, length);
        client[length] = 0;
        /* Locally administered: no card that was made has it. */
        const uint8_t address[ADDRESS] = {0x02, 'A', 'S', 'H', 0, (uint8_t)(number + 1)};
        net_port_serve(number, client, address);
        print("SWITCH port %u is for %s, 02:41:53:48:00:%02x\n", number, client, number + 1);
        number++;
    }
}

int main(void)
{
    static uint8_t frame[NET_PORT_FRAME];
    uint32_t ports = serve_all(), bytes = 0;

    if (ports == 0) {
        panic("no guest has `network` with this process's name\n");
    }
    print("SWITCH up\n");
    for (;;) {
        uint32_t from = net_port_await(frame, &bytes, DEADLINE_NEVER);
        learn(frame + ADDRESS, from);
        const struct known *to = find(frame);
        for (uint32_t port = 0; port < ports; port++) {
            if (port != from && (to == 0 || to->port == port)) {
                net_port_send(port, frame, bytes);
            }
        }
    }
}
