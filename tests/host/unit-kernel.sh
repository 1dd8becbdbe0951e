#!/bin/sh
# Unit tests of a project with the kernel's layers: what programs can do there, and what ends a test with a word about it.
set -u
ashlar=$PWD/ashlar
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
said=$folder/said
cd "$folder" && "$ashlar" new unit >/dev/null && cd unit || exit 1
rm tests/*

fail() { echo "$1"; cat "$said"; exit 1; }
says() { grep -qE -- "$1" "$said" || fail "it does not say: $1"; }

cat >tests/all.c <<'TEST'
#include <assert.h>
#include <string.h>
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/unit.h"

/* A name of the kernel's is the program's own, too. */
int timer_init(void) { return 3; }

static uint64_t served[2];
static int server(void)
{
    uint32_t slot = env_slot("endpoint.requests");
    struct message message = {.count = 0};
    uint32_t status = message_recv(slot, &message);
    while (status == STATUS_OK) {
        served[message.badge - 1]++;
        message.word[0] = message.word[9] + 1;
        message.count = 1;
        status = message_reply_recv(slot, &message);
    }
    return (int)status;
}

static int client(void)
{
    char word[8];
    uint64_t bits = 0;
    uint32_t bell = env_slot("notification.bell");
    struct message message = {.count = 10, .word = {[9] = 41}};
    if (env_arg("word", word, sizeof word) != 5 || strcmp(word, "hello") != 0) { return 1; }
    if (message_call(env_slot("endpoint.requests"), &message) != STATUS_OK || message.word[0] != 42) { return 2; }
    if (sys_wait(bell, sys_clock() + 1000, &bits) != ERR_TIMEOUT) { return 3; }
    if (sys_wait(bell, DEADLINE_NEVER, &bits) != STATUS_OK || bits != 1ul << 63) { return 4; }
    print("client: %lu s, %d\n", sys_clock() / UNIT_SECOND, timer_init());
    return 7;
}

static int ringer(void)
{
    struct message message = {.count = 10};
    sys_sleep(sys_clock() + 3 * UNIT_SECOND);
    if (message_call(env_slot("endpoint.requests"), &message) != STATUS_OK || message.word[0] != 1) { return 1; }
    if (sys_signal(env_slot("notification.bell")) != STATUS_OK || sys_signal(9) != ERR_BAD_SLOT) { return 2; }
    panic("the ringer ends\n");
}

static int late(void)
{
    for (;;) { sys_sleep(sys_clock() + UNIT_SECOND); }
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        unit_begin();
        uint32_t a = unit_process("server", server), b = unit_process("client", client);
        uint32_t c = unit_process("ringer", ringer), d = unit_process("late", late);
        unit_endpoint("requests", a, b);
        unit_endpoint("requests", a, c);
        unit_notification("bell", b, c);
        unit_argument(b, "word", "hello");
        unit_priority(c, 120);
        unit_run(10 * UNIT_SECOND);
        assert(unit_exit_code(a) == UNIT_RUNS && unit_exit_code(b) == 7 && unit_exit_code(c) == 125);
        assert(unit_exit_code(d) == UNIT_RUNS && unit_clock() >= 9 * UNIT_SECOND && unit_clock() <= 10 * UNIT_SECOND);
        assert(unit_said(b, "client: 3 s, 3\n") && unit_said(c, "the ringer ends") && !unit_said(a, "e"));
    }
    assert(served[0] == 2 && served[1] == 2);
    return 0;
}
TEST
"$ashlar" test >"$said" 2>&1 || fail "the test fails"
says '^1 passed, 0 failed'

# refused TEXT BODY: a program that does this ends the test, which says why and what was printed before.
refused() {
    cat >tests/all.c <<TEST
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/unit.h"
static int program(void) { print("begun\n"); $2; return 0; }
int main(void) { unit_begin(); unit_process("one", program); unit_run(UNIT_SECOND); return 0; }
TEST
    "$ashlar" test >"$said" 2>&1 && fail "it passes: $2"
    says '^one \| begun$'
    says "$1"
}
refused 'unit test: one: memory and threads of its own are not there' 'sys_mem_map(0x10000000, 1, PROT_READ)'
refused 'unit test: one: a message of more than ten words' 'struct message m = {.count = 11}; message_call(0, &m)'
refused 'index 4 out of bounds|stack-buffer-overflow' 'volatile int i = 4; char a[4]; a[i] = 1; print("%d", a[i])'
printf '#include "ashlar/syscall.h"\nint main(void) { return (int)sys_clock(); }\n' >tests/all.c
"$ashlar" test >"$said" 2>&1 && fail "a call of the test itself passes"
says 'a system call outside of unit_run'
exit 0
