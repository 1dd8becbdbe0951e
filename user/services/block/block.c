/* The block service: the one client of a disk's driver, which gives each of its own clients, programs and guests' monitors, a part
 * of the disk. A client sees a disk of its own, by the protocol `sata`: what it has flushed is on the medium, it reaches no
 * sector outside its part, and its errors are its own. Clients, the driver and this process may end and be started anew
 * at any moment; what a driver has not answered is asked of the next one.
 *
 * In the description the process has `serves = "sata"` and `disk`, the driver; clients name it as their `disk`. */
#include "clients.h"
#include "disk.h"

#include "ashlar/env.h"

/* Reads ` NUMBER` and moves on. Returns 0 if there is none. */
static int take_number(const char **text, size_t *length, uint64_t *number)
{
    while (*length != 0 && **text == ' ') {
        (*text)++;
        (*length)--;
    }
    size_t taken = env_text_number(*text, *length, number);
    *text += taken;
    *length -= taken;
    return taken != 0;
}

/* Serves every client to which the description gives a part: `disk.CLIENT=FIRST BYTES SHARE`. */
static void serve_all(const char *self)
{
    for (;;) {
        const char *value;
        size_t length = 0, value_length = 0;
        const char *name = env_text_entry((const char *)ENV_VADDR, "disk.", num_client, &length, &value, &value_length);
        if (name == 0) {
            return;
        }
        if (length >= NAME_BYTES || num_client == NUM_CLIENT) {
            panic("BLOCK more clients, or a longer name, than can be served\n");
        }
        struct client *c = &client[num_client];
        char share[3 * NAME_BYTES];
        uint64_t weight = 0;
        memcpy(c->name, name, length);
        if (!take_number(&value, &value_length, &c->at) || !take_number(&value, &value_length, &c->size) ||
            !take_number(&value, &value_length, &weight) || weight == 0) {
            panic("BLOCK the part of %s is not understood\n", c->name);
        }
        c->weight = (uint32_t)weight;
        weights += c->weight;
        format(share, sizeof share, "%s-sata-%s", self, c->name);
        domain_serve_at(FIRST_PORT + num_client, &sata_protocol, c->name, share);
        num_client++;
    }
}

int main(void)
{
    struct mail_set everything = {{0}};
    char self[NAME_BYTES];
    char driver[NAME_BYTES];

    env_name(self, sizeof self);
    if (env_arg("disk", driver, sizeof driver) < 0) {
        panic("BLOCK the description does not name the disk's driver: `disk`\n");
    }
    domain_start();
    serve_all(self);
    if (num_client == 0) {
        panic("BLOCK no process and no guest has `disk` with this process's name\n");
    }
    domain_connect(PORT, driver, &sata_protocol, RING_CAPACITY, DATA_PAGES);
    everything.mask[PORT] = ~0ul;
    for (uint32_t i = 0; i < num_client; i++) {
        everything.mask[FIRST_PORT + i] = ~0ul;
    }
    for (;;) {
        uint32_t mailbox = domain_await(&everything, disk_deadline());
        uint32_t port = mailbox >> 8;
        if (mailbox == DOMAIN_TIMEOUT) {
            disk_expire(sys_clock());
        } else if (port == PORT) {
            disk_receive(mailbox);
        } else {
            client_receive(port - FIRST_PORT, AT(SATA_NUMBER, mailbox));
        }
        queue_go_on();
    }
}
