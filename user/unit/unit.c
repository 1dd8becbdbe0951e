/* See unit.h: programs and the kernel's layers, compiled for a PC, in one process of Linux. */
#include "ashlar/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "arch.h"
#include "ashlar/message.h"
#include "endpoint.h"
#include "hosted.h"
#include "notify.h"
#include "process.h"
#include "sched.h"
#include "thread.h"
#include "trap.h"
#include "uctx.h"
#include "world.h"

#define MOST 16u
#define MOST_GRANTS 32u
#define ENVIRONMENT_BYTES 4096u
#define QUOTA 100u
#define PRIORITY 100u
#define CONSOLE_SLOT 63u
#define FIRST_BIT 63u /* of the first signaller; the next one has the one below */

struct grant {
    uint32_t kind;
    uint32_t object;
    uint32_t rights;
    uint64_t badge;
};

struct program {
    const char *name;
    int (*main)(void);
    uint32_t priority;
    struct grant grant[MOST_GRANTS];
    uint32_t num_grant;
    char environment[ENVIRONMENT_BYTES];
    char *said;
    size_t said_bytes;
    int is_in_line;
};

struct object {
    const char *name;
    uint32_t owner;
    uint32_t others;
};

static struct program programs[MOST];
static uint32_t num_program;
static struct object endpoints[MOST_GRANTS];
static uint32_t num_endpoint;
static struct object notifications[MOST_GRANTS];
static uint32_t num_notification;
static uint64_t end;
static int is_running;

static _Noreturn void fail(const char *what, const char *name)
{
    fflush(stdout);
    fprintf(stderr, "unit test: %s: %s\n", name, what);
    abort();
}

/* ---- what there is ---- */

static struct program *program_of(uint32_t process)
{
    if (process >= num_program) {
        fail("there is no such process", "(a number)");
    }
    return &programs[process];
}

static void __attribute__((format(printf, 2, 3))) line(struct program *program, const char *pattern, ...)
{
    size_t used = strlen(program->environment);
    va_list list;
    va_start(list, pattern);
    int length = vsnprintf(program->environment + used, sizeof program->environment - used, pattern, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof program->environment - used) {
        fail("its environment is larger than a page", program->name);
    }
}

void unit_begin(void)
{
    /* What programs print is seen of a test that fails, too. */
    setvbuf(stdout, 0, _IOLBF, BUFSIZ);
    world_start(1);
    for (uint32_t i = 0; i < num_program; i++) {
        free(programs[i].said);
    }
    memset(programs, 0, sizeof programs);
    num_program = 0;
    num_endpoint = 0;
    num_notification = 0;
}

uint32_t unit_process(const char *name, int (*main)(void))
{
    if (num_program == MOST) {
        fail("there are 16 processes already", name);
    }
    struct program *program = &programs[num_program];
    program->name = name;
    program->main = main;
    program->priority = PRIORITY;
    line(program, "name=%s\nslot.console.%s=%u\nthread.main=0\n", name, name, CONSOLE_SLOT);
    return num_program++;
}

void unit_priority(uint32_t process, uint32_t priority)
{
    program_of(process)->priority = priority;
}

void unit_argument(uint32_t process, const char *key, const char *value)
{
    line(program_of(process), "arg.%s=%s\n", key, value);
}

/* The object of that name, which is made if there is none. */
static uint32_t object_of(struct object *all, uint32_t *count, const char *name, uint32_t owner, int *is_new)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            if (all[i].owner != owner) {
                fail("it has another owner already", name);
            }
            *is_new = 0;
            return i;
        }
    }
    if (*count == MOST_GRANTS) {
        fail("there are too many", name);
    }
    all[*count] = (struct object){name, owner, 0};
    *is_new = 1;
    return (*count)++;
}

static void give(struct program *program, const char *kind, const char *name, struct grant grant)
{
    for (uint32_t slot = 0; slot < program->num_grant; slot++) {
        struct grant *known = &program->grant[slot];
        if (known->kind == grant.kind && known->object == grant.object) {
            known->rights |= grant.rights;
            known->badge |= grant.badge;
            return;
        }
    }
    if (program->num_grant == MOST_GRANTS) {
        fail("it has too many grants", program->name);
    }
    line(program, "slot.%s.%s=%u\n", kind, name, program->num_grant);
    program->grant[program->num_grant++] = grant;
}

void unit_endpoint(const char *name, uint32_t receiver, uint32_t sender)
{
    int is_new = 0;
    struct program *own = program_of(receiver);
    uint32_t object = object_of(endpoints, &num_endpoint, name, receiver, &is_new);
    if (is_new) {
        give(own, "endpoint", name, (struct grant){GRANT_ENDPOINT, object, RIGHT_RECV, 0});
    }
    uint64_t badge = ++endpoints[object].others;
    struct program *other = program_of(sender);
    give(other, "endpoint", name, (struct grant){GRANT_ENDPOINT, object, RIGHT_SEND, badge});
    line(own, "badge.%s.%s=%lu\n", name, other->name, badge);
}

void unit_notification(const char *name, uint32_t waiter, uint32_t signaller)
{
    int is_new = 0;
    struct program *own = program_of(waiter);
    uint32_t object = object_of(notifications, &num_notification, name, waiter, &is_new);
    if (is_new) {
        give(own, "notification", name, (struct grant){GRANT_NOTIFICATION, object, RIGHT_WAIT, 0});
    }
    uint32_t bit = FIRST_BIT - notifications[object].others++;
    struct program *other = program_of(signaller);
    give(other, "notification", name, (struct grant){GRANT_NOTIFICATION, object, RIGHT_SIGNAL, 1ul << bit});
    line(own, "bit.%s.%s=%u\n", name, other->name, bit);
}

/* ---- running ---- */

static void run_program(uint32_t thread)
{
    uint32_t process = thread_process(thread);
    int code = programs[process].main();

    user_call(SYS_PROCESS_EXIT, (uint64_t)code & 0xffffu, 0, 0, 0, 0);
}

/* All threads wait: time goes on, or the run is over. */
static void pass_time(uint32_t cpu)
{
    uint64_t alarm = hosted_alarm(cpu);

    if (alarm == UINT64_MAX || alarm > end) {
        hosted_leave_cpu();
    }
    hosted_clock_set(alarm);
}

static void run_cpu(uint32_t cpu)
{
    (void)cpu;
    sched_init_cpu();
    trap_idle();
}

static void define(uint32_t process)
{
    struct program *program = &programs[process];

    world_process(process, NONE, QUOTA, process, 1, 0, program->priority, NONE);
    for (uint32_t slot = 0; slot < program->num_grant; slot++) {
        struct grant *grant = &program->grant[slot];
        if (process_set_grant(process, slot, grant->kind, grant->object, grant->rights, grant->badge) != STATUS_OK) {
            fail("the kernel refuses a grant", program->name);
        }
    }
}

void unit_run(uint64_t until)
{
    for (uint32_t i = 0; i < num_endpoint; i++) {
        endpoint_define(i, endpoints[i].owner, 0);
    }
    for (uint32_t i = 0; i < num_notification; i++) {
        notify_define(i, notifications[i].owner);
    }
    for (uint32_t process = 0; process < num_program; process++) {
        define(process);
    }
    for (uint32_t process = 0; process < num_program; process++) {
        world_create(process);
        world_start_process(process);
    }
    end = until;
    hosted_set_user(run_program);
    hosted_on_idle(pass_time);
    is_running = 1;
    hosted_run_cpus(1, run_cpu);
    is_running = 0;
}

int unit_exit_code(uint32_t process)
{
    program_of(process);
    if (process_state(process) != PROCESS_EMPTY) {
        return UNIT_RUNS;
    }
    uint32_t cause = process_end_cause(process);
    return (cause & 0xffu) == END_EXIT ? (int)(cause >> 8 & 0xffffu) : UNIT_FAULT;
}

int unit_said(uint32_t process, const char *text)
{
    struct program *program = program_of(process);
    return program->said != 0 && strstr(program->said, text) != 0;
}

uint64_t unit_clock(void)
{
    return arch_clock_ns();
}

/* ---- what programs call ---- */

static struct program *running(void)
{
    if (!is_running) {
        fail("a system call outside of unit_run", "the test");
    }
    return program_of(thread_process(thread_current()));
}

const char *unit_environment(void)
{
    return is_running ? running()->environment : "";
}

struct sys_result sys_raw(uint64_t number, uint64_t a, uint64_t b, uint64_t w0, uint64_t w1, uint64_t w2)
{
    struct program *program = running();
    if (number == SYS_MEM_MAP || number == SYS_THREAD_START || number == SYS_SHARE_OFFER ||
        number == SYS_SHARE_ACCEPT) {
        fail("memory and threads of its own are not there in a unit test", program->name);
    }
    uint64_t status = user_call((uint32_t)number, a, b, w0, w1, w2);
    return (struct sys_result){status, user_first(), user_second()};
}

uint32_t unit_message(uint64_t number, uint32_t slot, struct message *message)
{
    struct program *program = running();
    uint32_t thread = thread_current();
    int receives_only = number == SYS_RECV;

    if (!receives_only && message->count > MESSAGE_REGISTER_WORDS) {
        fail("a message of more than ten words", program->name);
    }
    uctx_set(thread, UCTX_RAX, number);
    uctx_set(thread, UCTX_RDI, slot);
    uctx_set(thread, UCTX_RSI, receives_only ? 0 : message->count);
    for (uint32_t i = 0; !receives_only && i < message->count; i++) {
        uctx_set_word(thread, i, message->word[i]);
    }
    uint32_t status = user_call_registers();
    if (status != STATUS_OK || number == SYS_SEND || number == SYS_REPLY) {
        return status;
    }
    message->badge = user_first();
    message->count = user_second();
    if (message->count > MESSAGE_REGISTER_WORDS) {
        fail("a message of more than ten words has come", program->name);
    }
    for (uint32_t i = 0; i < message->count; i++) {
        message->word[i] = user_word(i);
    }
    return status;
}

uint32_t message_call(uint32_t slot, struct message *message)
{
    return unit_message(SYS_CALL, slot, message);
}

uint32_t message_reply_recv(uint32_t slot, struct message *message)
{
    return unit_message(SYS_REPLY_RECV, slot, message);
}

uint32_t message_recv(uint32_t slot, struct message *message)
{
    return unit_message(SYS_RECV, slot, message);
}

uint32_t message_send(uint32_t slot, struct message *message)
{
    return unit_message(SYS_SEND, slot, message);
}

uint32_t message_reply(struct message *message)
{
    return unit_message(SYS_REPLY, 0, message);
}

/* The console is the test's output, each line behind the process's name. */
uint32_t sys_console_write(uint32_t slot, uint32_t bytes, const uint64_t words[8], uint32_t *taken)
{
    struct program *program = running();
    const char *text = (const char *)words;

    (void)slot;
    program->said = realloc(program->said, program->said_bytes + bytes + 1);
    if (program->said == 0) {
        fail("no memory for what it prints", program->name);
    }
    memcpy(program->said + program->said_bytes, text, bytes);
    program->said_bytes += bytes;
    program->said[program->said_bytes] = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        if (!program->is_in_line) {
            printf("%s | ", program->name);
        }
        putchar(text[i]);
        program->is_in_line = text[i] != '\n';
    }
    *taken = bytes;
    return STATUS_OK;
}

uint32_t sys_console_read(uint32_t slot, uint64_t words[8], uint32_t *bytes)
{
    (void)slot;
    (void)words;
    *bytes = 0;
    return STATUS_OK;
}
