/* What a client learns of its links: on random steps of two drivers that are ended, started anew and break their rings, and of a client
 * that awaits now this and now that, the news of a link come in turn, what a driver gets was sent to it and not to the one before, and
 * what the client gets comes from the driver whose link it has taken. */
#include <stdint.h>
#include <string.h>

#include "../../libc/tests/check.h"

/* In the place of the system calls. */
#define ASHLAR_SYSCALL_H
#include "abi.h"
#define NO_SLOT 0xffffffffu
#define DEADLINE_NEVER 0xfffffffffffffffful
#define PORTS 2u
#define PAGE_SIZE 4096u
#define PROT_READ 1u
#define PROT_WRITE 2u

static uint64_t now;

static inline uint64_t sys_clock(void)
{
    return now++;
}
static inline uint32_t sys_signal(uint32_t slot)
{
    (void)slot;
    return STATUS_OK;
}
static inline uint32_t sys_poll(uint32_t slot, uint64_t *bits)
{
    (void)slot;
    *bits = 0;
    return STATUS_OK;
}
static void drivers_go_on(void);
static inline uint32_t sys_wait(uint32_t slot, uint64_t deadline, uint64_t *bits)
{
    (void)slot;
    (void)deadline;
    *bits = 0;
    drivers_go_on();
    return STATUS_OK;
}
static inline uint32_t sys_signal_wait(uint32_t signalled, uint32_t slot, uint64_t deadline, uint64_t *bits)
{
    (void)signalled;
    return sys_wait(slot, deadline, bits);
}
static inline uint32_t sys_mem_map(uint64_t address, uint64_t pages, uint32_t rights)
{
    (void)address;
    (void)pages;
    (void)rights;
    return STATUS_OK;
}
static inline void sys_mem_unmap(uint64_t address, uint64_t pages)
{
    (void)address;
    (void)pages;
}
static inline uint32_t sys_share_offer(uint32_t share, uint64_t address)
{
    (void)share;
    (void)address;
    return STATUS_OK;
}
static inline uint32_t sys_share_withdraw(uint32_t share)
{
    (void)share;
    return STATUS_OK;
}
static inline uint32_t sys_share_accept(uint32_t share, uint64_t address, uint32_t rights)
{
    (void)share;
    (void)address;
    (void)rights;
    return ERR_BAD_STATE;
}

#include "../domain.c"
#include "../domain_link.c"
#include "../domain_pending.c"
#include "../link.c"

/* Parts of the domain that a client with two links and nothing else does not use. */
uint32_t dispatch_threads = 1;
uint64_t interrupt_bit;
uint32_t interrupt_is_first;

void panic(const char *pattern, ...)
{
    fputs(pattern, stderr);
    exit(1);
}
void env_name(char *buffer, size_t size)
{
    (void)size;
    *buffer = 0;
}
uint32_t env_slot(const char *name)
{
    (void)name;
    return 0;
}
size_t format(char *buffer, size_t size, const char *pattern, ...)
{
    (void)size;
    (void)pattern;
    *buffer = 0;
    return 0;
}
void dispatch_start(void)
{
}
int dispatch(const struct mail_set *set)
{
    (void)set;
    return 0;
}
void interrupt_start(void)
{
}
void interrupt_has_fired(void)
{
}
uint32_t interrupt_must_poll(uint32_t more_awaits)
{
    return more_awaits & 0;
}
uint32_t interrupt_awaits_left(void)
{
    return 1;
}
void timer_has_fired(void)
{
}
void farewell_look(struct mail_port *port)
{
    (void)port;
}
void farewell_continue(void)
{
}
void dma_link_up(uint32_t port)
{
    (void)port;
}
void dma_link_down(uint32_t port)
{
    (void)port;
}
void monitored_bad_receive(const struct mail_port *port, uint32_t mailbox, enum monitor_verdict verdict)
{
    (void)port;
    (void)mailbox;
    (void)verdict;
}

/* ---- the drivers ---- */
#define STEPS 2000000u
#define CAPACITY 64u
#define LINK_PAGES 4u
#define WORD 0u  /* the driver's message, with the number of its life */
#define SPEAK 1u /* the client's, with the number of its session: how often it has taken that this link is up */

static struct side {
    uint64_t life;
    struct ring_producer out; /* the driver's ends */
    struct ring_consumer in;
    uint64_t session_got; /* the newest session of which the driver has a message, and the life that got it */
    uint64_t life_that_got;
    uint64_t has_link; /* the client has taken that it is up, and not that it is lost */
    uint64_t session;
    uint64_t life_heard; /* whose message the client has taken last, and in which session */
    uint64_t session_that_heard;
    uint64_t num_lost, num_got, num_heard;
} sides[PORTS + 1];

static uint64_t seed = 1;
static uint32_t is_calm;   /* the drivers live on */
static uint32_t is_silent; /* ... and say nothing */
static uint32_t is_signalled;

static uint64_t below(uint64_t limit)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (seed >> 33) % limit;
}

static void driver_listens(struct side *side)
{
    while (ring_has_mail(&side->in)) {
        struct mail mail;
        CHECK(ring_message(&side->in) == SPEAK);
        ring_take(&side->in, &mail, 0);
        CHECK(mail.cookie >= side->session_got);
        CHECK(mail.cookie != side->session_got || side->life_that_got == side->life);
        side->session_got = mail.cookie;
        side->life_that_got = side->life;
        side->num_got++;
    }
}

static void begin_life(uint32_t number)
{
    struct link_page *page = link_page(&domain_ports[number].link);

    sides[number].life++;
    page->accepted = 1;
    page->epoch = sides[number].life;
    is_signalled = 1;
}

/* More messages than there is room for. A client that is awake is not signalled. */
static void send_nonsense(uint32_t number)
{
    link_page(&domain_ports[number].link)->to_client.tail += 2 * CAPACITY;
}

/* One step of a driver at its end of the link's memory. Returns 1 if it signals the client. */
static uint32_t driver_steps(uint32_t number)
{
    struct side *side = &sides[number];
    struct link theirs = domain_ports[number].link;
    struct link_page *page = link_page(&theirs);

    if (page->epoch == 0 || (!is_calm && below(64) == 0) || (page->broken != 0 && below(8) == 0)) {
        begin_life(number);
        return 1;
    }
    if (page->accepted < LINK_PAGES) {
        uint32_t is_offered = theirs.epoch == page->epoch && theirs.joined == page->accepted;
        page->accepted += is_offered;
        theirs.is_driver = 1;
        set_up(&theirs);
        side->out = theirs.out;
        side->in = theirs.in;
        return is_offered;
    }
    if (page->ready != page->epoch || page->broken != 0) {
        return 0;
    }
    driver_listens(side);
    if (!is_calm && below(256) == 0) {
        send_nonsense(number);
        return 1;
    }
    if (is_silent || !ring_find_room(&side->out)) {
        return 0;
    }
    ring_put(&side->out, WORD, side->life);
    ring_publish(&side->out);
    return 1;
}

/* The client waits for a signal. */
static void drivers_go_on(void)
{
    for (uint32_t step = 0; !is_signalled && step < 1000; step++) {
        is_signalled = driver_steps(1 + step % PORTS);
    }
    CHECK(is_signalled);
    is_signalled = 0;
}

/* ---- the client ---- */
static uint32_t take_word(const struct mail_set *set, uint64_t deadline, struct mail_port *port, struct mail *mail,
                          uint64_t message)
{
    (void)set;
    (void)deadline;
    return mail_pass(port, mail, message, 0);
}

static void client_speaks(uint32_t number)
{
    struct mail_port *port = &domain_ports[number];
    struct ring_producer *out = &port->link.out;

    if (sides[number].has_link && (port->sendable >> SPEAK & 1) != 0 && (out->at != out->end || ring_find_room(out))) {
        ring_put(out, SPEAK, sides[number].session);
        ring_publish(out);
    }
}

static void client_hears(struct side *side)
{
    uint64_t life = domain_current->cookie;

    CHECK(side->has_link);
    CHECK(side->session == side->session_that_heard ? life == side->life_heard : life > side->life_heard);
    side->life_heard = life;
    side->session_that_heard = side->session;
    side->num_heard++;
}

#define NEWS (1ul << MAIL_LINK_UP | 1ul << MAIL_LINK_LOST)

/* Looks at some mailboxes, at a driver's only where its link is up. */
static uint32_t client_looks(void)
{
    struct mail_set set = {{0}};

    for (uint32_t number = 1; number <= PORTS; number++) {
        uint64_t news = below(4) != 0 ? NEWS : 0;
        uint64_t words = sides[number].has_link && below(2) != 0 ? 1ul << WORD : 0;
        set.mask[number] = below(2) != 0 ? news | words : 0;
    }
    uint32_t mailbox = domain_poll(&set, 0);
    CHECK(mailbox == DOMAIN_TIMEOUT || is_in(&set, mailbox));
    return mailbox;
}

/* Waits for anything that may come. */
static uint32_t client_waits(void)
{
    struct mail_set set = {{0}};

    for (uint32_t number = 1; number <= PORTS; number++) {
        set.mask[number] = sides[number].has_link ? NEWS | 1ul << WORD : NEWS;
    }
    return domain_await(&set, DEADLINE_NEVER);
}

static void client_takes(uint32_t mailbox)
{
    if (mailbox == DOMAIN_TIMEOUT) {
        return;
    }
    struct side *side = &sides[mailbox >> 8];
    switch (mailbox & 0xffu) {
    case MAIL_LINK_UP:
        CHECK(!side->has_link);
        side->has_link = 1;
        side->session++;
        break;
    case MAIL_LINK_LOST:
        CHECK(side->has_link);
        side->has_link = 0;
        side->num_lost++;
        break;
    default:
        client_hears(side);
        break;
    }
}

static void connect(uint32_t number)
{
    static mail_taker *const take[] = {take_word, take_word};
    static struct pending pools[PORTS + 1][NUM_PENDING];
    struct mail_port *port = &domain_ports[number];

    port->number = number;
    port->local = AT(number, 0);
    port->bit = 1u << number;
    port->take = take;
    port->incoming = 1ul << WORD;
    port->outgoing = 1ul << SPEAK;
    port->pool = pools[number];
    for (uint32_t i = 0; i < NUM_PENDING; i++) {
        pools[number][i].next = port->unused;
        port->unused = &pools[number][i];
    }
    domain.linked[domain.num_linked++] = port;
    port->link.capacity = CAPACITY;
    port->link.pages = LINK_PAGES;
    port->link.address = (uint64_t)aligned_alloc(PAGE_SIZE, LINK_PAGES * PAGE_SIZE);
    memset((void *)port->link.address, 0, LINK_PAGES * PAGE_SIZE);
    CHECK(link_ring_pages(CAPACITY) <= LINK_PAGES && link_offer(&port->link) == STATUS_OK);
}

int main(void)
{
    static struct mail current;

    domain_current = &current;
    domain.knock_at = DEADLINE_NEVER;
    for (uint32_t number = 1; number <= PORTS; number++) {
        connect(number);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t number = 1 + (uint32_t)below(PORTS);
        switch (below(3)) {
        case 0:
            driver_steps(number);
            break;
        case 1:
            client_speaks(number);
            break;
        default:
            client_takes(client_looks());
            break;
        }
        if (below(1024) == 0) {
            domain_refuse(number);
        }
    }
    is_calm = 1;
    for (uint32_t step = 0; step < 1000; step++) {
        client_takes(client_waits());
    }
    for (uint32_t number = 1; number <= PORTS; number++) {
        struct side *side = &sides[number];
        CHECK(side->has_link && domain_ports[number].link.state == LINK_UP);
        CHECK(side->life_heard == side->life && side->session_that_heard == side->session);
        CHECK(side->num_lost > 1000 && side->num_got > 1000 && side->num_heard > 1000);
    }
    /* Whatever ends a link, and whatever the client waited for meanwhile, it takes the loss, and then that the link is there again. */
    is_silent = 1;
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t number = 1 + (uint32_t)below(PORTS);
        uint64_t sessions = sides[number].session;
        (below(2) == 0 ? begin_life : send_nonsense)(number);
        for (uint64_t signals = below(4); signals != 0; signals--) {
            static const struct mail_set nothing;
            driver_steps(number);
            is_signalled = 0;
            CHECK(domain_poll(&nothing, 0) == DOMAIN_TIMEOUT);
        }
        while (sides[number].session == sessions) {
            client_takes(client_waits());
        }
    }
    return 0;
}
