/* Runs drivers in every way that their environment can make them run, each against the run-time monitor of its protocols.
 *
 * A driver runs on a stack of its own. Whenever its environment has a choice (which message an AWAIT gets, with which cookie
 * and payload; what a function that is defined elsewhere returns), and before each message that it sends, the driver's whole
 * state is kept: stack, objects, monitors. From each state every choice is made once. So the runs are a graph, which is
 * printed for what speaks of runs without end; rules that a single step breaks are seen here.
 *
 * A cookie or payload that is wrong does not end a run, but everything behind it is marked: the checker looks at each rule by
 * itself, and does not say what comes behind the violation of another one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

#define STACK 16384u
#define TABLE 16384u /* of states: a power of two, and more than twice as many as there may be */
#define BLOCKS 400u  /* that a driver may pass before its state is kept: it may never come to a choice */
#define WORDS 8u
#define NUM_PROTOCOL 2u
#define OPTIONS 256u

/* ---- what a run changes beside the driver's objects ---- */

struct environment {
    struct mail mail;
    uint8_t sent[MAIL_PAYLOAD];
    uint64_t words[NUM_PROTOCOL][WORDS];
    uint32_t state[NUM_PROTOCOL];
    uint32_t blocks;
    uint32_t is_marked;
} now;

static const struct subject *subject;
static struct monitor monitors[NUM_PROTOCOL];
const struct mail *domain_current = &now.mail;

/* ---- two stacks ----
 * What changes while the other stack runs is not static: the compiler takes the switch for a call of any function. */

static uint8_t stack[STACK] __attribute__((aligned(16)));
void *driver_sp;
void *explorer_sp;
uint32_t chosen;

/* Why the driver gave control back. */
enum { AWAITS, CHOOSES, ENDED } reason;
uint32_t num_choice;
const struct mail_set *awaited;

void switch_stacks(void **from, void *to);
__asm__(".text\n.globl switch_stacks\nswitch_stacks:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static uint32_t choose(uint32_t count, uint32_t is_await)
{
    now.blocks = 0;
    num_choice = count;
    reason = is_await ? AWAITS : CHOOSES;
    switch_stacks(&driver_sp, explorer_sp);
    return chosen;
}

/* ---- what breaks a rule, and what the graph is ---- */

/* By rule: seen on a run that broke none before, and on one that did. */
static uint32_t broken[8][2];

#define EVENTS 64u
static uint32_t events[EVENTS];
static uint32_t num_event;

static void breaks(uint32_t rule)
{
    broken[rule][now.is_marked] = 1;
}

static void note(uint32_t mailbox)
{
    if (num_event < EVENTS) {
        events[num_event] = mailbox;
    }
    num_event++;
}

static void end(void)
{
    reason = ENDED;
    switch_stacks(&driver_sp, explorer_sp);
}

static uint32_t protocol_of(uint32_t mailbox)
{
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        if (subject->protocols[i]->first_mailbox >> 8 == mailbox >> 8) {
            return i;
        }
    }
    fprintf(stderr, "mailbox %#x is of no protocol\n", mailbox);
    exit(2);
}

static void load_monitors(void)
{
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        monitors[i].state = now.state[i];
    }
}

static void clear_requests(uint32_t p, uint32_t requests)
{
    for (uint32_t i = 0; i < subject->protocols[p]->num_request; i++) {
        if ((requests >> i & 1u) != 0) {
            now.words[p][subject->protocols[p]->requests[i].first_word] = 0;
        }
    }
}

static void fill(const struct protocol *protocol, const struct protocol_message *message, uint8_t *payload)
{
    for (uint32_t i = 0; i < message->num_field; i++) {
        const struct protocol_field *field = &protocol->fields[message->first_field + i];
        for (uint32_t k = 0; k < (uint32_t)field->count * field->bytes; k++) {
            payload[field->offset + k] = (uint8_t)(field->least >> (8 * (k % field->bytes)));
        }
    }
}

/* ---- the framework, as the driver sees it ---- */

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    (void)mailbox;
    (void)cookie;
    choose(1, 0);
    return now.sent;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    uint32_t p = protocol_of(mailbox);
    const struct protocol *protocol = subject->protocols[p];
    const struct protocol_message *message = &protocol->messages[mailbox - protocol->first_mailbox];
    uint32_t is_done = 0;

    load_monitors();
    note(mailbox);
    while (!is_done) {
        uint16_t next = protocol->next[monitors[p].state * protocol->num_message + (mailbox & 0xffu)];
        switch (monitor_emit(&monitors[p], mailbox, cookie, now.sent)) {
        case MONITOR_OK:
            is_done = 1;
            break;
        case MONITOR_PAYLOAD:
            breaks(7);
            now.is_marked = 1;
            fill(protocol, message, now.sent);
            break;
        case MONITOR_DRAINED:
            breaks(6);
            now.is_marked = 1;
            clear_requests(p, message->drained);
            break;
        case MONITOR_COOKIE:
            breaks(6);
            now.is_marked = 1;
            clear_requests(p, message->drops);
            monitors[p].state = next;
            is_done = 1;
            break;
        default:
            breaks(1);
            end();
        }
    }
    now.state[p] = monitors[p].state;
    memset(now.sent, 0, sizeof now.sent);
}

static struct mail option[OPTIONS];
static uint32_t num_option;

/* One way in which a message can come, if the client may send it. */
static void offer(uint32_t p, uint32_t id, uint64_t cookie, const uint8_t *payload)
{
    uint64_t kept[WORDS];
    uint32_t mailbox = subject->protocols[p]->first_mailbox + id;
    struct monitor trial = monitors[p];

    memcpy(kept, now.words[p], sizeof kept);
    trial.open = kept;
    if (monitor_receive(&trial, mailbox, cookie, payload) == MONITOR_OK) {
        if (num_option == OPTIONS) {
            fprintf(stderr, "too many ways for a message to come\n");
            exit(2);
        }
        option[num_option].mailbox = mailbox;
        option[num_option].cookie = cookie;
        memcpy(option[num_option].payload, payload, MAIL_PAYLOAD);
        num_option++;
    }
}

/* All values of the fields from number `from` on: of each, at most the first eight. */
static void offer_fields(uint32_t p, uint32_t id, uint32_t from, uint64_t cookie, uint8_t *payload)
{
    const struct protocol *protocol = subject->protocols[p];
    const struct protocol_message *message = &protocol->messages[id];

    if (from == message->num_field) {
        offer(p, id, cookie, payload);
        return;
    }
    const struct protocol_field *field = &protocol->fields[message->first_field + from];
    for (uint64_t value = field->least; value <= field->most && value < field->least + 8u; value++) {
        for (uint32_t k = 0; k < field->bytes; k++) {
            payload[field->offset + k] = (uint8_t)(value >> (8 * k));
        }
        offer_fields(p, id, from + 1u, cookie, payload);
    }
}

static void list_options(void)
{
    num_option = 0;
    for (uint32_t p = 0; p < subject->num_protocol; p++) {
        const struct protocol *protocol = subject->protocols[p];
        for (uint32_t id = 0; id < protocol->num_message; id++) {
            const struct protocol_message *message = &protocol->messages[id];
            uint32_t mailbox = protocol->first_mailbox + id;
            if ((awaited->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) == 0) {
                continue;
            }
            uint64_t limit = message->cookie == MONITOR_NO_COOKIE ? 1u : protocol->requests[message->request].limit;
            for (uint64_t cookie = 0; cookie < limit; cookie++) {
                uint8_t payload[MAIL_PAYLOAD] = {0};
                offer_fields(p, id, 0, cookie, payload);
            }
        }
    }
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    uint32_t mailboxes[128];
    uint32_t count = 0;
    const struct monitor *all[NUM_PROTOCOL];

    (void)deadline;
    load_monitors();
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        all[i] = &monitors[i];
    }
    for (uint32_t port = 0; port < DOMAIN_PORTS; port++) {
        for (uint32_t bit = 0; bit < 64u; bit++) {
            if ((set->mask[port] >> bit & 1u) != 0) {
                mailboxes[count++] = port << 8 | bit;
            }
        }
    }
    if (monitor_await(all, subject->num_protocol, mailboxes, count) != MONITOR_OK) {
        breaks(3);
    }
    awaited = set;
    list_options();
    uint32_t which = choose(num_option, 1);
    /* Another state may have been looked at meanwhile. */
    awaited = set;
    load_monitors();
    list_options();
    now.mail = option[which];
    uint32_t p = protocol_of(now.mail.mailbox);
    monitor_receive(&monitors[p], now.mail.mailbox, now.mail.cookie, now.mail.payload);
    now.state[p] = monitors[p].state;
    note(now.mail.mailbox);
    return now.mail.mailbox;
}

uint64_t dma_size(uint32_t protocol)
{
    (void)protocol;
    return choose(4, 0);
}

void __sanitizer_cov_trace_pc(void)
{
    if (subject != 0 && ++now.blocks == BLOCKS) {
        choose(1, 0);
    }
}

/* ---- exploration ---- */

struct node {
    uint8_t *bytes;
    uint32_t size;
    uint32_t used; /* of the stack */
    uint32_t count;
};

static struct node *nodes;
static uint32_t num_node;
static uint32_t table[TABLE];
static uint32_t is_whole;

static void start(void)
{
    subject->driver();
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        if (!subject->protocols[i]->states[now.state[i]].is_final) {
            breaks(5);
        }
        for (uint32_t k = 0; k < WORDS; k++) {
            if (now.words[i][k] != 0) {
                breaks(6);
            }
        }
    }
    end();
}

static uint32_t capture(uint8_t *into)
{
    uint32_t used = (uint32_t)(stack + STACK - (uint8_t *)driver_sp);
    uint32_t size = 0;

    memcpy(into, driver_sp, used);
    size += used;
    for (uint32_t i = 0; i < subject->num_region; i++) {
        memcpy(into + size, subject->regions[i].at, subject->regions[i].size);
        size += subject->regions[i].size;
    }
    memcpy(into + size, &now, sizeof now);
    return size + (uint32_t)sizeof now;
}

static void restore(const struct node *node)
{
    uint32_t size = node->used;

    driver_sp = stack + STACK - node->used;
    memcpy(driver_sp, node->bytes, node->used);
    for (uint32_t i = 0; i < subject->num_region; i++) {
        memcpy(subject->regions[i].at, node->bytes + size, subject->regions[i].size);
        size += subject->regions[i].size;
    }
    memcpy(&now, node->bytes + size, sizeof now);
}

/* The number of the state that the driver is in; the greatest number if there are too many. */
static uint32_t here(uint32_t most)
{
    static uint8_t bytes[STACK + 65536];
    uint32_t size = capture(bytes);
    uint64_t hash = 14695981039346656037u;

    for (uint32_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    uint32_t slot = (uint32_t)(hash >> 32) & (TABLE - 1u);
    while (table[slot] != 0) {
        const struct node *node = &nodes[table[slot] - 1u];
        if (node->size == size && memcmp(node->bytes, bytes, size) == 0) {
            return table[slot] - 1u;
        }
        slot = (slot + 1u) & (TABLE - 1u);
    }
    if (num_node == most) {
        is_whole = 0;
        return UINT32_MAX;
    }
    struct node *node = &nodes[num_node];
    node->bytes = malloc(size);
    memcpy(node->bytes, bytes, size);
    node->size = size;
    node->used = (uint32_t)(stack + STACK - (uint8_t *)driver_sp);
    node->count = num_choice;
    table[slot] = ++num_node;
    printf("N %u", now.is_marked);
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        printf(" %u", now.state[i]);
    }
    if (reason == AWAITS) {
        printf(" A");
        for (uint32_t port = 0; port < DOMAIN_PORTS; port++) {
            for (uint32_t bit = 0; bit < 64u; bit++) {
                if ((awaited->mask[port] >> bit & 1u) != 0) {
                    printf(" %u", port << 8 | bit);
                }
            }
        }
    }
    printf("\n");
    return num_node - 1u;
}

static void go(uint32_t from, uint32_t most)
{
    num_event = 0;
    switch_stacks(&explorer_sp, driver_sp);
    if (num_event > EVENTS) {
        is_whole = 0;
        return;
    }
    if (reason == ENDED) {
        return;
    }
    uint32_t to = here(most);
    if (to != UINT32_MAX && from != UINT32_MAX) {
        printf("E %u %u", from, to);
        for (uint32_t i = 0; i < num_event; i++) {
            printf(" %u", events[i]);
        }
        printf("\n");
    }
}

static void explore(uint32_t most)
{
    memset(&now, 0, sizeof now);
    memset(stack, 0, sizeof stack);
    memset(table, 0, sizeof table);
    memset(broken, 0, sizeof broken);
    is_whole = 1;
    for (uint32_t i = 0; i < subject->num_protocol; i++) {
        monitor_start(&monitors[i], subject->protocols[i], now.words[i]);
    }
    /* Six registers, and where to go. */
    uint64_t *top = (uint64_t *)(void *)(stack + STACK) - 2;
    *top = (uint64_t)(uintptr_t)start;
    driver_sp = top - 6;
    go(UINT32_MAX, most);
    for (uint32_t i = 0; i < num_node; i++) {
        for (uint32_t k = 0; k < nodes[i].count; k++) {
            restore(&nodes[i]);
            chosen = k;
            go(i, most);
        }
    }
    for (uint32_t i = 0; i < num_node; i++) {
        free(nodes[i].bytes);
    }
    num_node = 0;
}

/* For each driver its graph, then the rules that are broken, and whether every run was seen. */
int main(int argc, char **argv)
{
    uint32_t most = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000u;

    nodes = calloc(most, sizeof *nodes);
    for (uint32_t i = 0; i < num_subject; i++) {
        subject = &subjects[i];
        printf("D %u\n", i);
        explore(most);
        subject = 0;
        for (uint32_t rule = 0; rule < 8u; rule++) {
            if (broken[rule][0] || broken[rule][1]) {
                printf("V %u %u\n", rule, broken[rule][0]);
            }
        }
        printf("W %u\n", is_whole);
    }
    return 0;
}
