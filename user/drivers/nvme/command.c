/* Commands of the client: each has the slot, and the identifier, of its cookie. They complete in any order; one that fails
 * leaves the others alone, and is tried again unless the controller says that it will always fail. */
#include "ashlar/print.h"
#include "nvme.h"

#define DRAIN_DEADLINE 30000000000ul /* ns: the cache of a disk takes its time to be written */
#define WORD_SECTOR 0u               /* two words of the entry */
#define WORD_COUNT 2u
#define MOST_TRIES 5u
#define MOST_TOLD 16u   /* a disk that goes on failing must not fill the console */
#define MOST_IN_VAIN 8u /* in a row: a message may be late, a line that goes on so stays raised */

uint32_t issued;
uint32_t waiting;
struct command command[NUM_SLOT];
uint32_t depth;
enum flushed flushed;
static uint32_t num_told;
static uint32_t in_vain; /* interrupts in a row without a completion */

void tell_pairs(void)
{
    print("NVME %u pairs of queues for commands\n", last_pair);
}

uint32_t lowest_slot(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

/* What the client says of its buffer and of the sectors is good, and the queue has the slot. */
uint32_t is_acceptable(uint32_t slot)
{
    const struct command *c = &command[slot];
    uint64_t bytes = (uint64_t)c->count * sector_size;
    uint64_t pages = (c->buffer % PAGE + bytes + PAGE - 1u) / PAGE;

    return slot < depth && c->count != 0u && c->buffer % 4u == 0u && pages <= NUM_LIST + 1u && bytes <= transfer &&
           c->buffer + bytes <= dma_size(SATA_NUMBER) && c->sector < sectors && c->count <= sectors - c->sector;
}

/* Pages follow each other for the processor only. All but the first one are named whole: the last one's length follows from the
 * command's. */
static void fill_pages(volatile struct entry *e, uint32_t slot, uint32_t buffer, uint32_t bytes)
{
    uint32_t at = LISTS_AT + slot * LIST_SIZE;
    volatile uint64_t *list = (volatile uint64_t *)dma_memory(PCI_NUMBER, at);
    uint32_t part = PAGE - buffer % PAGE;

    e->first = dma_physical(SATA_NUMBER, buffer);
    if (bytes <= part) {
        return;
    }
    buffer = buffer + part;
    bytes = bytes - part;
    if (bytes <= PAGE) {
        e->rest = dma_physical(SATA_NUMBER, buffer);
        return;
    }
    uint32_t pages = (bytes + PAGE - 1u) / PAGE;
    for (uint32_t i = 0; i < pages && i < NUM_LIST; i = i + 1u) {
        list[i] = dma_physical(SATA_NUMBER, buffer + i * PAGE);
    }
    e->rest = dma_physical(PCI_NUMBER, at);
}

/* Gives the device a command of the client. Requires: it is acceptable. */
void issue(uint32_t slot)
{
    const struct command *c = &command[slot];
    uint32_t bit = 1u << slot;
    uint32_t pair = pair_of(c->is_write);
    volatile struct entry *e = new_entry(pair, slot, c->is_write ? DISK_WRITE : DISK_READ);

    e->name_space = name_space;
    fill_pages(e, slot, c->buffer, c->count * sector_size);
    e->word[WORD_SECTOR] = (uint32_t)c->sector;
    e->word[WORD_SECTOR + 1u] = (uint32_t)(c->sector >> 32);
    e->word[WORD_COUNT] = (c->count - 1u) | (c->force ? DISK_FORCE : 0u);
    waiting = waiting & ~bit;
    issued = issued | bit;
    submit(pair);
}

/* What the controller failed may be good the next time. Returns 1 if it is given the command once more. A queue that has stopped
 * takes none, but the client may send it again. */
static uint32_t try_again(uint32_t slot, uint32_t word)
{
    struct command *c = &command[slot];

    if ((word & COMPLETION_FINAL) != 0u || port != ACTIVE || c->tries >= MOST_TRIES) {
        return 0;
    }
    c->tries = (uint8_t)(c->tries + 1u);
    if (num_told < MOST_TOLD) {
        num_told = num_told + 1u;
        print("NVME a command is tried again, status 0x%x\n", word >> COMPLETION_STATUS_SHIFT & COMPLETION_STATUS_MASK);
    }
    issue(slot);
    return 1;
}

static uint8_t reason_of(uint32_t word)
{
    uint32_t status = word >> COMPLETION_STATUS_SHIFT & COMPLETION_STATUS_MASK;

    if (status == STATUS_ABORTED || status == STATUS_DELETED) {
        return REASON_DROPPED;
    }
    if (status == STATUS_FIELD || status == STATUS_RANGE) {
        return REASON_REQUEST;
    }
    return port == FROZEN && (word & COMPLETION_FINAL) == 0u ? REASON_DROPPED : REASON_HARDWARE;
}

/* A command of the client is done, if it is one that is under way. */
static void complete_command(uint32_t slot, uint32_t word)
{
    uint32_t bit = 1u << slot;

    if ((issued >> slot & 1u) == 0u) {
        return;
    }
    if ((word >> COMPLETION_STATUS_SHIFT & COMPLETION_STATUS_MASK) == 0u) {
        issued = issued & ~bit;
        EMIT(SATA_DONE, slot);
    } else if (!try_again(slot, word)) {
        struct sata_failed body = {reason_of(word), command[slot].sector};
        issued = issued & ~bit;
        EMIT(SATA_FAILED, slot, &body);
    }
}

/* A completion that is of no command under way is passed over. */
static void complete(uint32_t word)
{
    uint32_t id = word & COMPLETION_IDENTIFIER;
    uint32_t status = word >> COMPLETION_STATUS_SHIFT & COMPLETION_STATUS_MASK;

    if (id < NUM_SLOT && (port == ACTIVE || port == FROZEN)) {
        complete_command(id % NUM_SLOT, word);
    } else if (id == FLUSH && flushed == FLUSH_SENT) {
        flushed = status == 0u ? FLUSHED : FLUSH_FAILED;
    }
}

/* The line stays raised though no command of the client is done. The answer to an admin command has come too late, or the
 * controller was stopped with completions that its driver had not taken, as when that was killed: QEMU's then keeps its line
 * until it is told as often as there were such queues, of whichever, what was taken. Telling it twice does no harm elsewhere. */
static void lower_line(void)
{
    uint32_t word = 0;

    free_completions(take_completion(ADMIN, &word) ? ADMIN : READS);
}

/* Takes a completion of either pair. The second one has none, ever, where the controller has only one pair. */
static uint32_t take_any(uint32_t *word)
{
    return take_completion(READS, word) || take_completion(WRITES, word);
}

/* One round through a queue at most: a device that goes on and on does not keep the driver from its other work. The interrupt does
 * not say which queue it is of. */
void reap(void)
{
    uint32_t left = NUM_ENTRY;
    uint32_t word = 0;

    while (left != 0u && take_any(&word)) {
        complete(word);
        left = left - 1u;
    }
    if (left != NUM_ENTRY) {
        free_new_completions(READS);
        free_new_completions(WRITES);
        in_vain = 0;
    } else if (in_vain < MOST_IN_VAIN) {
        in_vain = in_vain + 1u;
    } else {
        lower_line();
        in_vain = 0;
    }
}

static void send_flush(void)
{
    uint32_t pair = pair_of(1);
    volatile struct entry *e = new_entry(pair, FLUSH, DISK_FLUSH);

    e->name_space = name_space;
    flushed = FLUSH_SENT;
    submit(pair);
}

/* Returns 1 if there is nothing to wait for any more. */
static uint32_t is_drained(void)
{
    if (issued == 0u && flushed == FLUSH_WANTED) {
        send_flush();
    }
    return issued == 0u && flushed >= FLUSHED;
}

void drain(uint32_t flushes)
{
    flushed = flushes ? FLUSH_WANTED : FLUSHED;
    if (is_drained()) {
        return;
    }
    arm_timer(DRAIN_DEADLINE);
    while (AWAIT(PCI_IRQ, TIMER_FIRED) == PCI_IRQ) {
        reap();
        EMIT(PCI_IRQ_DONE);
        if (is_drained()) {
            cancel_timer();
            return;
        }
    }
    reap();
}

void fail_all(void)
{
    uint32_t open = issued | waiting;

    issued = 0;
    waiting = 0;
    while (open != 0u) {
        uint32_t slot = lowest_slot(open);
        struct sata_failed body = {REASON_DROPPED, command[slot].sector};
        EMIT(SATA_FAILED, slot, &body);
        open = open & (open - 1u);
    }
}
