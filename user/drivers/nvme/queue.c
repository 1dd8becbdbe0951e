/* Pairs of queues: entries go to the device by the submission queue, and what became of them comes back by the completion queue.
 * A completion is new if its phase is that of this round through the queue. Interrupts say that there may be new ones. */
#include "nvme.h"

#define ADMIN_DEADLINE 5000000000ul /* ns */

uint32_t last_pair = READS;
uint32_t result;

static uint32_t submitted[NUM_PAIR]; /* entries ever, since the queues were cleared */
static uint32_t taken[NUM_PAIR];     /* completions ever */
static uint32_t freed[NUM_PAIR];     /* ... that the device knows of */
static uint32_t identifier;          /* of the admin command that is waited for */
static uint32_t answer;              /* its status */

static uint32_t queue_at(uint32_t pair, uint32_t is_completion)
{
    return QUEUES_AT + (2u * pair + is_completion) * PAGE;
}

static volatile struct completion *completion(uint32_t pair, uint32_t index)
{
    return (volatile struct completion *)dma_memory(PCI_NUMBER,
                                                    queue_at(pair, 1) + index * (uint32_t)sizeof(struct completion));
}

uint32_t pair_of(uint32_t is_write)
{
    return is_write ? last_pair : READS;
}

/* Requires: the controller is disabled. */
void clear_queues(void)
{
    for (uint32_t pair = 0; pair < NUM_PAIR; pair = pair + 1u) {
        for (uint32_t i = 0; i < NUM_ENTRY; i = i + 1u) {
            completion(pair, i)->status = 0;
        }
        submitted[pair] = 0;
        taken[pair] = 0;
        freed[pair] = 0;
    }
}

volatile struct entry *new_entry(uint32_t pair, uint32_t id, uint32_t operation)
{
    volatile struct entry *e = (volatile struct entry *)dma_memory(
        PCI_NUMBER, queue_at(pair, 0) + submitted[pair] % NUM_ENTRY * (uint32_t)sizeof(struct entry));

    e->operation = id << IDENTIFIER_SHIFT | operation;
    e->name_space = 0;
    e->spare[0] = 0;
    e->spare[1] = 0;
    e->metadata = 0;
    e->first = 0;
    e->rest = 0;
    for (uint32_t i = 0; i < 6u; i = i + 1u) {
        e->word[i] = 0;
    }
    return e;
}

void submit(uint32_t pair)
{
    submitted[pair] = submitted[pair] + 1u;
    dma_barrier();
    write32(DOORBELLS + 2u * pair * stride, submitted[pair] % NUM_ENTRY);
}

/* The word is read once: what is tested is what is used. The phase is 1 in the first round, 0 in the second one. */
uint32_t take_completion(uint32_t pair, uint32_t *word)
{
    uint32_t phase = taken[pair] / NUM_ENTRY % 2u == 0u ? COMPLETION_PHASE : 0u;

    *word = completion(pair, taken[pair] % NUM_ENTRY)->status;
    if ((*word & COMPLETION_PHASE) != phase) {
        return 0;
    }
    dma_barrier();
    taken[pair] = taken[pair] + 1u;
    return 1;
}

void free_completions(uint32_t pair)
{
    write32(DOORBELLS + (2u * pair + 1u) * stride, taken[pair] % NUM_ENTRY);
}

/* To be told of the same ones again is an error to a controller, and QEMU's takes it for one queue less that keeps the line. */
void free_new_completions(uint32_t pair)
{
    if (freed[pair] != taken[pair]) {
        freed[pair] = taken[pair];
        free_completions(pair);
    }
}

void arm_timer(uint64_t nanoseconds)
{
    struct timer_arm body = {nanoseconds};

    EMIT(TIMER_ARM, 0, &body);
}

void cancel_timer(void)
{
    EMIT(TIMER_CANCEL);
    while (AWAIT(TIMER_FIRED, TIMER_CANCELLED) != TIMER_CANCELLED) {
    }
}

/* Takes the completion of the admin command that is under way, and none of an earlier one. Returns 1 if it was there. */
static uint32_t take_answer(void)
{
    uint32_t word = 0;

    if (!take_completion(ADMIN, &word)) {
        return 0;
    }
    result = completion(ADMIN, (taken[ADMIN] - 1u) % NUM_ENTRY)->result;
    free_completions(ADMIN);
    answer = word >> COMPLETION_STATUS_SHIFT & COMPLETION_STATUS_MASK;
    return (word & COMPLETION_IDENTIFIER) == identifier;
}

/* An interrupt may have been lost: when the time is over, the queue has the last word. */
static uint32_t await_answer(void)
{
    arm_timer(ADMIN_DEADLINE);
    while (AWAIT(PCI_IRQ, TIMER_FIRED) == PCI_IRQ) {
        if (take_answer()) {
            EMIT(PCI_IRQ_DONE);
            cancel_timer();
            return 1;
        }
        EMIT(PCI_IRQ_DONE);
    }
    return take_answer();
}

/* One admin command at a time, of a namespace or of none; `more` is put into its second word. Requires: no command of the client
 * is under way. Without an answer the controller has to be restarted before the next one. */
uint32_t execute(const struct admin *command, uint32_t of, uint32_t more)
{
    identifier = (identifier + 1u) & COMPLETION_IDENTIFIER;
    volatile struct entry *e = new_entry(ADMIN, identifier, command->operation);
    e->name_space = of;
    e->first = dma_physical(PCI_NUMBER, command->at);
    e->word[0] = command->word;
    e->word[1] = command->next | more;
    submit(ADMIN);
    return await_answer() && answer == 0u;
}
