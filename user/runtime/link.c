/* Setting up a link: the client offers its pages one after the other, the driver accepts them. Either side may be
 * ended and started anew at any moment; every step finds out by itself where the other side is. */
#include "ashlar/link.h"

#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

static struct link_mark *mark_of(const struct link *link, uint32_t page)
{
    return (struct link_mark *)(link->address + page * PAGE_SIZE);
}

/* Both ends of the rings, from their beginning. */
static void set_up(struct link *link)
{
    struct link_page *page = link_page(link);
    struct mail *to_driver = (struct mail *)(link->address + PAGE_SIZE);
    struct mail *to_client = to_driver + link->capacity;
    uint64_t first = (uint64_t)link->protocol << 8;
    struct ring_producer out = {.mask = link->capacity - 1, .first = first};
    struct ring_consumer in = {.mask = link->capacity - 1, .first = first, .batch = RING_BATCH};

    out.shared = link->is_driver ? &page->to_client : &page->to_driver;
    out.slot = link->is_driver ? to_client : to_driver;
    in.shared = link->is_driver ? &page->to_driver : &page->to_client;
    in.slot = link->is_driver ? to_driver : to_client;
    link->out = out;
    link->in = in;
}

void link_cut(struct link *link)
{
    link->state = LINK_CUT;
    ring_close(&link->out, &link->in);
    link_page(link)->broken = 1;
    sys_signal(link->signal);
}

/* ---- the client ---- */

static uint32_t offer(struct link *link, uint32_t page)
{
    struct link_mark *mark = mark_of(link, page);

    mark->magic = LINK_MAGIC;
    mark->index = page;
    if (page == 0) { /* a driver that ended may have left anything there */
        link_page(link)->protocol = link->protocol;
        link_page(link)->capacity = link->capacity;
        link_page(link)->pages = link->pages;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return sys_share_offer(link->share, (uint64_t)mark);
}

uint32_t link_offer(struct link *link)
{
    uint32_t status = sys_mem_map(link->address, link->pages, PROT_READ | PROT_WRITE);

    if (status == STATUS_OK) {
        link->state = LINK_JOINING;
        link->joined = 0;
        link->epoch = 0;
        status = offer(link, 0);
        sys_signal(link->signal);
    }
    return status;
}

/* A driver accepts the first page: empty the rings for it. */
static void begin_epoch(struct link *link, uint64_t epoch)
{
    struct link_page *page = link_page(link);

    memset(&page->to_driver, 0, sizeof page->to_driver);
    memset(&page->to_client, 0, sizeof page->to_client);
    page->broken = 0;
    set_up(link);
    link->epoch = epoch;
    link->joined = 0;
    link->state = LINK_JOINING;
    __atomic_store_n(&page->ready, epoch, __ATOMIC_RELEASE);
}

static uint32_t advance_client(struct link *link)
{
    struct link_page *page = link_page(link);
    uint64_t epoch = __atomic_load_n(&page->epoch, __ATOMIC_ACQUIRE);
    uint32_t was_up = link->state == LINK_UP;

    if (epoch != link->epoch) {
        begin_epoch(link, epoch);
    }
    if (link->state != LINK_JOINING) {
        return 0;
    }
    uint64_t accepted = __atomic_load_n(&page->accepted, __ATOMIC_ACQUIRE);
    if (accepted > link->joined && accepted <= link->pages) {
        /* The next one; after the last, the first again, for a driver that is started anew. */
        link->joined = (uint32_t)accepted;
        offer(link, link->joined < link->pages ? link->joined : 0);
        if (link->joined == link->pages) {
            link->state = LINK_UP;
        }
    } else if (sys_share_withdraw(link->share) == STATUS_OK) {
        offer(link, link->joined);
    } else {
        /* Taken but not counted: a driver has found a page that it did not want, and begins anew. */
        offer(link, 0);
    }
    /* Also where the offer only stands again: the driver may have looked for it in between. */
    sys_signal(link->signal);
    return was_up || link->state == LINK_UP;
}

/* ---- the driver ---- */

static void unmap_all(struct link *link, uint32_t pages)
{
    for (uint32_t page = 0; page < pages; page++) {
        sys_mem_unmap(link->address + page * PAGE_SIZE, 1);
    }
    link->joined = 0;
}

/* Whether the first page describes a link of this protocol that can be; its words are the client's, so they are copied
 * before they are looked at. */
static uint32_t is_wanted(struct link *link)
{
    const struct link_page *page = link_page(link);
    uint32_t protocol = __atomic_load_n(&page->protocol, __ATOMIC_RELAXED);

    link->capacity = __atomic_load_n(&page->capacity, __ATOMIC_RELAXED);
    link->pages = __atomic_load_n(&page->pages, __ATOMIC_RELAXED);
    return protocol == link->protocol && link->capacity >= 64 && link->capacity <= LINK_MAX_CAPACITY &&
           (link->capacity & (link->capacity - 1)) == 0 && link->pages >= link_ring_pages(link->capacity) &&
           link->pages <= LINK_MAX_PAGES;
}

/* Accepts what is offered. Returns 0 when nothing is. */
static uint32_t accept_page(struct link *link)
{
    uint32_t next = link->joined;
    uint32_t status = sys_share_accept(link->share, link->address + next * PAGE_SIZE, PROT_READ | PROT_WRITE);

    if (status == ERR_BAD_STATE && next > 0) {
        unmap_all(link, next); /* the first page again, which this process holds already: the client starts anew */
        return 1;
    }
    if (status == ERR_QUOTA && link->has_moved) {
        panic("LINK no memory for another client beside what predecessors have left\n");
    }
    if (status != STATUS_OK) {
        return 0;
    }
    const struct link_mark *mark = mark_of(link, next);
    if (mark->magic != LINK_MAGIC || mark->index != next || (next == 0 && !is_wanted(link))) {
        unmap_all(link, next + 1);
        sys_signal(link->signal);
        return 1;
    }
    struct link_page *page = link_page(link);
    link->joined = next + 1;
    if (next == 0) {
        link->epoch = page->epoch + 1;
        page->accepted = 1;
        __atomic_store_n(&page->epoch, link->epoch, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&page->accepted, link->joined, __ATOMIC_RELEASE);
    }
    sys_signal(link->signal);
    return 1;
}

static uint32_t advance_driver(struct link *link)
{
    if (link->state != LINK_JOINING) {
        return 0;
    }
    while ((link->joined == 0 || link->joined < link->pages) && accept_page(link)) {
    }
    if (link->joined == 0 || link->joined < link->pages ||
        __atomic_load_n(&link_page(link)->ready, __ATOMIC_ACQUIRE) != link->epoch) {
        return 0;
    }
    set_up(link);
    link->state = LINK_UP;
    return 1;
}

uint32_t link_is_replaced(const struct link *link)
{
    uint64_t spare = link->address + LINK_SPARE;

    /* The one who is linked has offered a page that this process owns, and that is refused. */
    if (link->joined == 0 || link->joined < link->pages ||
        sys_share_accept(link->share, spare, PROT_READ | PROT_WRITE) != STATUS_OK) {
        return 0;
    }
    sys_mem_unmap(spare, 1);
    return 1;
}

void link_rejoin(struct link *link)
{
    unmap_all(link, link->joined);
    link->state = LINK_JOINING;
    sys_signal(link->signal);
}

uint32_t link_rejoin_elsewhere(struct link *link)
{
    uint64_t end = link->address - (link->address - LINK_AREA) % LINK_STEP + LINK_STEP;

    link_rejoin(link);
    link->has_moved = 1;
    link->address += LINK_PLACE;
    return link->address + LINK_PLACE <= end;
}

uint32_t link_advance(struct link *link)
{
    if (link->state == LINK_NONE) {
        return 0;
    }
    if (link->state == LINK_UP && __atomic_load_n(&link_page(link)->broken, __ATOMIC_RELAXED) != 0) {
        link->state = LINK_CUT;
        ring_close(&link->out, &link->in);
        return 1;
    }
    return link->is_driver ? advance_driver(link) : advance_client(link);
}
