/* Starts its children, and ends and restarts them at random moments, `kills` times. After each end it checks that
 * everything came back: the quota in use is what it was without that child, and, in a debug build, that the kernel's
 * own tables are sound.
 * Afterwards, or at once if it is to end none, it obeys its console: `kill NAME`, `start NAME`.
 * Arguments: `children`, names separated by spaces; `kills` (default 0); `seed` (default 1); `pause_us`, the longest
 * time between two kills (default 20000). Console input must signal notification `input`. */
#include "ashlar/console_line.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define MAX_CHILDREN 16u
#define NAME_BYTES 32u
#define POLL_NS 200000ul
#define END_LIMIT_NS 60000000000ul /* a child that has not ended by then is reported */

struct child {
    char name[NAME_BYTES];
    uint32_t slot;
    uint64_t frames; /* of our quota that go to it while it exists */
};

static struct child child[MAX_CHILDREN];
static uint32_t num_children;
static uint64_t own_frames; /* in use when no child exists */

static uint64_t frames_in_use(void)
{
    uint64_t used = 0;
    uint64_t quota = 0;
    sys_quota(&used, &quota);
    return used;
}

static void start(struct child *c)
{
    uint32_t status = sys_process_create(c->slot);
    if (status == STATUS_OK) {
        status = sys_process_start(c->slot, 0, 0, 0);
    }
    if (status != STATUS_OK) {
        panic("starting %s: error %u\n", c->name, status);
    }
}

static void await_end(const struct child *c)
{
    uint64_t limit = sys_clock() + END_LIMIT_NS;
    uint64_t state = PROCESS_DYING;
    uint64_t cause = 0;

    for (;;) {
        uint32_t status = sys_process_status(c->slot, &state, &cause);
        if (status != STATUS_OK) {
            panic("asking for %s: error %u\n", c->name, status);
        }
        if (state == PROCESS_EMPTY) {
            return;
        }
        if (sys_clock() > limit) {
            panic("%s has not ended a minute after it was killed; state %lu\n", c->name, state);
        }
        sys_sleep(sys_clock() + POLL_NS);
    }
}

/* Frames that should be in use now: our own, and the quotas of the children that exist. */
static uint64_t frames_expected(void)
{
    uint64_t frames = own_frames;

    for (uint32_t i = 0; i < num_children; i++) {
        uint64_t state = PROCESS_EMPTY;
        uint64_t cause = 0;
        sys_process_status(child[i].slot, &state, &cause);
        frames += state == PROCESS_EMPTY ? 0 : child[i].frames;
    }
    return frames;
}

/* Children may end by themselves at any time, so one comparison can go wrong; what is lost stays lost, however. */
static void check_frames(const struct child *c)
{
    uint64_t limit = sys_clock() + END_LIMIT_NS;

    while (frames_in_use() != frames_expected()) {
        if (sys_clock() > limit) {
            panic("end of %s: %lu frames in use afterwards, expected %lu\n", c->name, frames_in_use(),
                  frames_expected());
        }
        sys_sleep(sys_clock() + POLL_NS);
    }
}

/* Ends one child and checks that all came back. */
static void end(const struct child *c)
{
    uint64_t broken = 0;
    uint32_t status = sys_process_kill(c->slot);

    /* A child that ended by itself meanwhile is no error: it must have left nothing behind either. */
    if (status != STATUS_OK && status != ERR_BAD_STATE) {
        panic("killing %s: error %u\n", c->name, status);
    }
    await_end(c);
    check_frames(c);
    status = sys_check(env_slot_of_kind("power"), &broken);
    if (status != STATUS_OK && status != ERR_NOT_SUPPORTED) {
        panic("asking the kernel to check its tables: error %u\n", status);
    }
    if (status == STATUS_OK && broken != 0) {
        panic("end of %s: the kernel's invariant %lu is broken\n", c->name, broken);
    }
}

/* Fills the table from the argument's names. */
static void find_children(void)
{
    static char list[512];
    char *name = list;

    if (env_arg("children", list, sizeof list) < 0) {
        panic("argument `children` is missing\n");
    }
    while (*name != 0 && num_children < MAX_CHILDREN) {
        struct child *c = &child[num_children];
        size_t length = 0;
        while (name[length] != 0 && name[length] != ' ') {
            length++;
        }
        if (length > 0 && length < NAME_BYTES) {
            char key[NAME_BYTES + 16];
            memcpy(c->name, name, length);
            c->name[length] = 0;
            format(key, sizeof key, "process.%s", c->name);
            c->slot = env_slot(key);
            if (c->slot == NO_SLOT) {
                panic("%s is not a child of this process\n", c->name);
            }
            num_children++;
        }
        name += length;
        name += *name == ' ' ? 1 : 0;
    }
}

static void obey(const char *line)
{
    for (uint32_t i = 0; i < num_children; i++) {
        if (strncmp(line, "kill ", 5) == 0 && strcmp(line + 5, child[i].name) == 0) {
            end(&child[i]);
            print("KILLED %s, everything returned\n", child[i].name);
            return;
        }
        if (strncmp(line, "start ", 6) == 0 && strcmp(line + 6, child[i].name) == 0) {
            start(&child[i]);
            print("STARTED %s\n", child[i].name);
            return;
        }
    }
    print("not understood: %s; say `kill NAME` or `start NAME` with the name of a child\n", line);
}

static _Noreturn void obey_console(void)
{
    uint32_t console = env_slot_of_kind("console");
    uint32_t input = env_slot("notification.input");

    for (;;) {
        uint64_t bits = 0;
        while (console_obey(console, obey)) {
        }
        uint32_t status = sys_wait(input, DEADLINE_NEVER, &bits);
        if (status != STATUS_OK) {
            panic("waiting for input: error %u\n", status);
        }
    }
}

int main(void)
{
    struct random random = {env_arg_u64("seed", 1)};
    uint64_t kills = env_arg_u64("kills", 0);
    uint64_t pause = env_arg_u64("pause_us", 20000) * 1000 + 1;

    find_children();
    own_frames = frames_in_use();
    for (uint32_t i = 0; i < num_children; i++) {
        uint64_t before = frames_in_use();
        start(&child[i]);
        child[i].frames = frames_in_use() - before;
    }
    print("SUPERVISOR started %u children\n", num_children);
    for (uint64_t number = 1; number <= kills; number++) {
        struct child *c = &child[random_next(&random) % num_children];
        sys_sleep(sys_clock() + random_next(&random) % pause);
        end(c);
        start(c);
        print("KILL %lu: %s ended, everything returned, started again\n", number, c->name);
    }
    if (kills != 0) {
        print("KILL-TEST passed %lu\n", kills);
    }
    obey_console();
}
