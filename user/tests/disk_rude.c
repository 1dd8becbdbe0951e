/* A client of a disk that asks for what is not its own: sectors behind its part, sectors that overflow, memory outside its data area.
 * All of that must be refused. At last it opens a request twice, and is cut off. */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "sata_protocol.h"

#define PORT SATA_NUMBER
#define RING_CAPACITY 64u
#define DATA_PAGES 17u
#define AREA (DATA_PAGES * 4096u)
#define REASON_REQUEST 2u
#define REASON_DROPPED 4u

static uint64_t sectors;
static uint32_t number; /* of the request that is next */
static uint32_t has_opened_twice;

static void emit(uint32_t mailbox, const void *payload, uint32_t bytes)
{
    void *place = domain_emit_begin(mailbox, 0);

    if (bytes != 0) {
        memcpy(place, payload, bytes);
    }
    domain_emit_end(mailbox, 0);
}

/* Sends the next of them; at the end one that breaks the protocol. */
static void ask(void)
{
    const struct sata_write bad[] = {{sectors, 1, 0, 0},     {sectors - 1, 2, 0, 0},    {~0ul, 1, 0, 0},
                                     {~0ul - 1, 4, 0, 0},    {~0ul - sectors, 8, 0, 0}, {0, 65536, 0, 0},
                                     {0, 1, AREA, 0},        {0, 1, AREA - 2, 0},       {0, 1, ~0u - 1, 0},
                                     {0, 2, 0xfffffe00u, 0}, {0, 128, AREA / 2, 0}};

    if (number < sizeof bad / sizeof bad[0]) {
        emit(number % 2 ? SATA_WRITE : SATA_READ, &bad[number], sizeof bad[0]);
    } else {
        const struct sata_write body = {0, 1, 0, 0};
        has_opened_twice = 1;
        emit(SATA_READ, &body, sizeof body);
        emit(SATA_READ, &body, sizeof body);
    }
}

static void failed(void)
{
    uint32_t reason = ((const struct sata_failed *)domain_current->payload)->reason;

    if (reason == REASON_REQUEST) {
        number++;
    } else if (reason != REASON_DROPPED) {
        panic("RUDE request %u has failed with reason %u\n", number, reason);
    }
    ask();
}

static void receive(uint32_t mailbox)
{
    static const struct sata_identify identify = {0};
    static const struct sata_configure configure = {.depth = 1, .write_cache = 1};

    switch (mailbox) {
    case AT(PORT, MAIL_LINK_UP):
        emit(SATA_START, 0, 0);
        break;
    case SATA_PLUGGED:
        emit(SATA_RESET, 0, 0);
        break;
    case SATA_RESET_OK:
        emit(SATA_IDENTIFY, &identify, sizeof identify);
        break;
    case SATA_IDENTIFY_OK:
        sectors = ((const struct sata_identify_ok *)domain_current->payload)->sectors;
        emit(SATA_CONFIGURE, &configure, sizeof configure);
        break;
    case SATA_CONFIGURE_OK:
        ask();
        break;
    case SATA_FAILED:
        failed();
        break;
    case SATA_DONE:
        if (!has_opened_twice) {
            panic("RUDE request %u was done\n", number);
        }
        break;
    default: /* a link that is lost comes back */
        break;
    }
}

int main(void)
{
    struct mail_set set = {{0}};
    char service[32];

    if (env_arg("disk", service, sizeof service) < 0) {
        panic("RUDE the description gives it no disk\n");
    }
    domain_start();
    domain_connect(PORT, service, &sata_protocol, RING_CAPACITY, DATA_PAGES);
    set.mask[PORT] = ~0ul;
    for (;;) {
        uint32_t mailbox = domain_await(&set, DEADLINE_NEVER);
        if (mailbox == AT(PORT, MAIL_LINK_LOST) && has_opened_twice) {
            print("RUDE %u requests refused, and cut off\n", number);
            return 0;
        }
        receive(mailbox);
    }
}
