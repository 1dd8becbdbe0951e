/* Starts its children and, when one ends, does what the description's `restart` says; it learns of ends by notification.
 * People may type at its console: `status`, `start NAME`, `stop NAME`. A child that a person has stopped stays so.
 *
 * The deaths of its children and its console's input must signal one notification, the first that it waits for. */
#include "ashlar/console_line.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "restart_policy.h"

#define MAX_CHILDREN 32u
#define NAME_BYTES 32u

struct child {
    char name[NAME_BYTES];
    uint32_t slot;
    struct restart_policy policy;
    uint32_t starts;  /* that succeeded */
    uint32_t exists;  /* created, and not known to have ended */
    uint32_t stopped; /* a person has stopped it */
    uint64_t cause;   /* of its last end */
};

static struct child child[MAX_CHILDREN];
static uint32_t num_children;

static void print_cause(uint64_t cause)
{
    switch (cause & 0xff) {
    case END_EXIT:
        print("it exited with code %lu", cause >> 8);
        break;
    case END_KILLED:
        print("it was killed");
        break;
    case END_FAULT:
        print("a fault, exception %lu", cause >> 8);
        break;
    default:
        print("cause 0x%lx", cause);
    }
}

/* Returns 1 if the child runs, else 0 after a message. */
static uint32_t start(struct child *c)
{
    uint32_t status = sys_process_create(c->slot);
    if (status == STATUS_OK) {
        c->exists = 1;
        status = sys_process_start(c->slot, 0, 0, 0);
    }
    if (status != STATUS_OK) {
        print("supervisor: %s cannot be started: status %u\n", c->name, status);
        if (c->exists) {
            sys_process_kill(c->slot); /* what was created is returned; its death is heard of */
            c->stopped = 1;
        }
        return 0;
    }
    c->stopped = 0;
    c->starts++;
    return 1;
}

static void decide(struct child *c)
{
    if (c->stopped) {
        print("supervisor: %s is stopped\n", c->name);
        return;
    }
    switch (restart_decide(&c->policy, c->cause, sys_clock())) {
    case RESTART_NOT_WANTED:
        return;
    case RESTART_TOO_OFTEN:
        print("supervisor: %s stays ended: started again %lu times within %lu ms\n", c->name, c->policy.limit,
              c->policy.within / 1000000);
        return;
    case RESTART_NOW:
        if (start(c)) {
            print("supervisor: %s is started again, number %u\n", c->name, c->starts - 1);
        }
    }
}

/* A notification may come for several ends, or late: only what the kernel says of a child counts. */
static void look_at(struct child *c)
{
    uint64_t state = PROCESS_EMPTY;
    uint64_t cause = 0;
    if (!c->exists || sys_process_status(c->slot, &state, &cause) != STATUS_OK || state != PROCESS_EMPTY) {
        return;
    }
    c->exists = 0;
    c->cause = cause;
    print("supervisor: %s has ended: ", c->name);
    print_cause(cause);
    print("\n");
    decide(c);
}

static void print_status(const struct child *c)
{
    static const char *const policy[] = {"never", "on-failure", "always"};
    uint64_t state = PROCESS_EMPTY;
    uint64_t cause = 0;
    sys_process_status(c->slot, &state, &cause);
    print("%s: %s, started %u times, restart %s", c->name, state == PROCESS_EMPTY ? "ended" : "exists", c->starts,
          policy[c->policy.when]);
    if (state == PROCESS_EMPTY && c->starts != 0) {
        print("; ");
        print_cause(cause);
    }
    print("\n");
}

static void start_by_hand(struct child *c)
{
    if (c->exists) {
        print("supervisor: %s exists\n", c->name);
        return;
    }
    restart_forget(&c->policy);
    if (start(c)) {
        print("supervisor: %s is started\n", c->name);
    }
}

static void stop_by_hand(struct child *c)
{
    if (!c->exists) {
        print("supervisor: %s has ended already\n", c->name);
        return;
    }
    c->stopped = 1;
    sys_process_kill(c->slot);
}

static void obey(const char *line)
{
    if (strcmp(line, "status") == 0) {
        for (uint32_t i = 0; i < num_children; i++) {
            print_status(&child[i]);
        }
        return;
    }
    for (uint32_t i = 0; i < num_children; i++) {
        if (strncmp(line, "start ", 6) == 0 && strcmp(line + 6, child[i].name) == 0) {
            start_by_hand(&child[i]);
            return;
        }
        if (strncmp(line, "stop ", 5) == 0 && strcmp(line + 5, child[i].name) == 0) {
            stop_by_hand(&child[i]);
            return;
        }
    }
    print("supervisor: not understood: %s; say `status`, `start NAME` or `stop NAME`\n", line);
}

/* Fills the table from the environment page. */
static void find_children(void)
{
    struct child *c = &child[0];
    while (num_children < MAX_CHILDREN && env_child(num_children, c->name, sizeof c->name, &c->slot)) {
        size_t length = 0;
        const char *policy = env_text_find((const char *)ENV_VADDR, "restart.", c->name, &length);
        if (policy != 0 && !restart_parse(&c->policy, policy, length)) {
            print("supervisor: the restart policy of %s is not understood; it is never started again\n", c->name);
        }
        num_children++;
        c++;
    }
}

int main(void)
{
    uint32_t events = env_slot_of_kind("notification");
    uint32_t console = env_slot_of_kind("console");

    find_children();
    for (uint32_t i = 0; i < num_children; i++) {
        uint64_t state = PROCESS_EMPTY;
        uint64_t cause = 0;
        sys_process_status(child[i].slot, &state, &cause);
        if (state == PROCESS_EMPTY) {
            start(&child[i]);
        } else {
            child[i].exists = 1; /* the kernel has started it */
            child[i].starts = 1;
        }
    }
    print("SUPERVISOR watches %u children\n", num_children);
    for (;;) {
        for (uint32_t i = 0; i < num_children; i++) {
            look_at(&child[i]);
        }
        while (console != NO_SLOT && console_obey(console, obey)) {
        }
        uint64_t bits = 0;
        uint32_t status = sys_wait(events, DEADLINE_NEVER, &bits);
        if (status != STATUS_OK) {
            panic("supervisor: waiting for deaths: error %u\n", status);
        }
    }
}
