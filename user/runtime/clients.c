/* Several clients of one protocol: each has a port of the domain, and the driver speaks with the one whose turn it is. */
#include "ashlar/clients.h"

#include "ashlar/console_line.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "clients_serve.h"

#define FIRST_PORT 8u /* of the domain: those below have the numbers of protocols */
#define NAME_BYTES 32u
#define NO_CLIENT 0xffffffffu
#define NUM_SET 8u /* of AWAITs and POLLs that are remembered */

_Static_assert(FIRST_PORT + CLIENTS_MOST <= DOMAIN_PORTS, "each client has a port of the domain");

static char name[CLIENTS_MOST][NAME_BYTES];
static uint32_t num_client;
static uint32_t turn = NO_CLIENT;
static uint64_t from_clients; /* a bit for each message that clients send */
static uint32_t console;
static uint32_t is_asked; /* for the status */

void clients_serve(const struct protocol *protocol)
{
    char self[NAME_BYTES];
    char share[4 * NAME_BYTES];
    const char *key, *value;
    size_t length = 0, value_length = 0;

    env_name(self, sizeof self);
    for (uint32_t i = 0; i < protocol->num_message; i++) {
        from_clients |= (uint64_t)(protocol->messages[i].is_incoming != 0) << i;
    }
    while ((key = env_text_entry((const char *)ENV_VADDR, "client.", num_client, &length, &value, &value_length)) !=
           0) {
        if (num_client == CLIENTS_MOST || num_client == driver_clients.most || length >= NAME_BYTES) {
            panic("more clients, or a longer name, than this process can serve\n");
        }
        memcpy(name[num_client], key, length);
        format(share, sizeof share, "%s-%s-%s", self, protocol->name, name[num_client]);
        domain_serve_at(FIRST_PORT + num_client, protocol, name[num_client], share);
        num_client++;
    }
    if (num_client == 0) {
        panic("the description names no client of this process by %s\n", protocol->name);
    }
    console = env_slot_of_kind("console");
}

uint32_t client_count(void)
{
    return num_client;
}

const char *client_name(uint32_t client)
{
    return client < num_client ? name[client] : "?";
}

uint32_t driver_is_named(void)
{
    char driver[NAME_BYTES];

    return env_arg("uplink", driver, sizeof driver) >= 0 || env_arg("disk", driver, sizeof driver) >= 0;
}

/* ---- the environment ---- */

static uint32_t is_hexadecimal(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static uint64_t digit(char c)
{
    return (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* `02:41:53:48:00:01`, or a decimal number. */
static uint64_t number_of(const char *word, size_t length)
{
    uint64_t number = 0;

    if (length != 17 || word[2] != ':') {
        return env_text_number(word, length, &number) != 0 ? number : 0;
    }
    for (size_t i = 0; i < length; i++) {
        number = is_hexadecimal(word[i]) ? number << 4 | digit(word[i]) : number;
    }
    return number;
}

uint64_t client_value(uint32_t client, uint32_t which)
{
    const char *value = 0;
    size_t length = 0, left = 0, word = 0;

    if (env_text_entry((const char *)ENV_VADDR, "client.", client, &length, &value, &left) == 0) {
        return 0;
    }
    for (;; which--) {
        for (; left != 0 && *value == ' '; left--) {
            value++;
        }
        for (word = 0; word < left && value[word] != ' ';) {
            word++;
        }
        if (which == 0 || word == 0) {
            return number_of(value, word);
        }
        value += word;
        left -= word;
    }
}

/* ---- messages ---- */

static uint32_t the_one_in_turn(void)
{
    if (turn == NO_CLIENT) {
        panic("a client is meant, but none has its turn\n");
    }
    return turn;
}

/* The port of a message that the driver sends: what clients send it sends as a client itself. */
static uint32_t at(uint32_t mailbox)
{
    uint32_t is_to_client = mailbox >> 8 == driver_clients.protocol && (from_clients >> (mailbox & 63u) & 1u) == 0;

    return is_to_client ? AT(FIRST_PORT + the_one_in_turn(), mailbox) : mailbox;
}

void clients_emit(uint32_t mailbox, uint64_t cookie)
{
    domain_send(at(mailbox), cookie, 0, 0);
}

void clients_emit_payload(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    domain_send(at(mailbox), cookie, body, size);
}

static void obey(const char *line)
{
    if (strcmp(line, "status") == 0) {
        is_asked = 1;
    } else {
        print("not understood: %s; say status\n", line);
    }
}

/* The set by ports: the clients' messages at each client's, the console at its slot. */
static void spread(struct mail_set *set)
{
    uint64_t own = set->mask[driver_clients.protocol] & from_clients;

    set->mask[driver_clients.protocol] &= ~from_clients;
    for (uint32_t i = 0; i < num_client; i++) {
        set->mask[FIRST_PORT + i] = own;
    }
    if (set->mask[DOMAIN_EVENTS] != 0) {
        set->mask[DOMAIN_EVENTS] = console != NO_SLOT ? 1ul << console : 0;
    }
}

/* Sets never change: each is spread once, as long as there is room. */
static const struct mail_set *spread_once(const struct mail_set *own)
{
    static struct {
        const struct mail_set *own;
        struct mail_set set;
    } known[NUM_SET];
    uint32_t i = 0;

    while (i < NUM_SET - 1 && known[i].own != own && known[i].own != 0) {
        i++;
    }
    if (known[i].own != own) {
        known[i].own = own;
        known[i].set = *own;
        spread(&known[i].set);
    }
    return &known[i].set;
}

static void obey_console(void)
{
    while (console_obey(console, obey)) {
    }
}

static uint32_t take(const struct mail_set *own, uint64_t deadline)
{
    const struct mail_set *set = spread_once(own);

    for (;;) {
        uint32_t mailbox = domain_await(set, deadline);
        uint32_t port = mailbox >> 8;
        if (mailbox != DOMAIN_TIMEOUT && port >= FIRST_PORT) {
            turn = port - FIRST_PORT;
            return AT(driver_clients.protocol, mailbox);
        }
        turn = NO_CLIENT;
        if (mailbox == DOMAIN_TIMEOUT) {
            return 0;
        }
        if (port != DOMAIN_EVENTS) {
            return mailbox;
        }
        obey_console();
        if (is_asked) {
            is_asked = 0;
            return CONSOLE_STATUS;
        }
    }
}

uint32_t clients_await(const struct mail_set *set)
{
    return take(set, DEADLINE_NEVER);
}

uint32_t clients_await_until(const struct mail_set *set, uint64_t time)
{
    return take(set, time);
}

uint32_t clients_current(void)
{
    return the_one_in_turn();
}

void clients_turn_to(uint32_t client)
{
    if (client >= driver_clients.most || client >= CLIENTS_MOST) {
        panic("there is no client %u to turn to\n", client);
    }
    turn = client;
}

/* ---- data areas ---- */

uint32_t clients_port(uint32_t protocol)
{
    return protocol == driver_clients.protocol ? FIRST_PORT + the_one_in_turn() : protocol;
}

/* Null if there is no link. */
static uint8_t *data_of(uint32_t area, uint64_t *size)
{
    uint32_t port = area < CLIENTS_MOST ? FIRST_PORT + area : area & 0xffu;

    *size = 0;
    return port < DOMAIN_PORTS ? domain_data(port, size) : 0;
}

uint64_t area_size(uint32_t area)
{
    uint64_t size = 0;

    return data_of(area, &size) != 0 ? size : 0;
}

static uint8_t *bytes_of(uint32_t area, uint64_t at_byte, uint64_t bytes)
{
    uint64_t size = 0;
    uint8_t *data = data_of(area, &size);

    return data != 0 && bytes <= size && at_byte <= size - bytes ? data + at_byte : 0;
}

uint32_t area_read(void *to, uint32_t area, uint64_t at_byte, uint64_t bytes)
{
    const uint8_t *from = bytes_of(area, at_byte, bytes);

    return from != 0 && memcpy(to, from, bytes) != 0;
}

uint32_t area_write(uint32_t area, uint64_t at_byte, const void *from, uint64_t bytes)
{
    uint8_t *to = bytes_of(area, at_byte, bytes);

    return to != 0 && memcpy(to, from, bytes) != 0;
}

uint32_t area_clear(uint32_t area, uint64_t at_byte, uint64_t bytes)
{
    uint8_t *to = bytes_of(area, at_byte, bytes);

    return to != 0 && memset(to, 0, bytes) != 0;
}

uint32_t area_copy(uint32_t to, uint64_t to_at, uint32_t from, uint64_t from_at, uint64_t bytes)
{
    uint8_t *target = bytes_of(to, to_at, bytes);
    const uint8_t *source = bytes_of(from, from_at, bytes);

    return target != 0 && source != 0 && memmove(target, source, bytes) != 0;
}

uint64_t time_now(void)
{
    return sys_clock();
}
