/* Interrupts of devices: closed until acknowledged, masked and notified when they fire, closed again when the
 * driver ends; console input is signalled the same way. */
#include "abi.h"
#include "arch.h"
#include "console.h"
#include "hosted.h"
#include "invariants.h"
#include "irq.h"
#include "notify.h"
#include "process.h"
#include "sched.h"
#include "test.h"
#include "world.h"

#define LINE 11u
#define IRQ_SLOT 6u
#define WAIT_SLOT 7u
#define CONSOLE_SLOT 8u
#define CHILD_SLOT 9u
#define MESSAGE_SLOT 10u
#define NO_MESSAGE_SLOT 11u
#define CONSOLE 2u

static uint32_t driver_rounds;

/* The message of a line is told to those who hold the right to it, if a function may send one. */
static void asks_for_messages(void)
{
    CHECK_EQUAL(user_call(SYS_IRQ_MESSAGE, IRQ_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_IRQ_ACK, MESSAGE_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_IRQ_MESSAGE, NO_MESSAGE_SLOT, 0, 0, 0, 0), ERR_NOT_SUPPORTED);
    CHECK_EQUAL(user_call(SYS_IRQ_MESSAGE, MESSAGE_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), arch_message_address(LINE));
    CHECK(user_first() != 0);
    CHECK_EQUAL(user_second(), VECTOR_BASE + LINE);
}

static void driver(uint32_t thread)
{
    (void)thread;
    asks_for_messages();
    CHECK_EQUAL(hosted_line_open(LINE), 0);
    CHECK_EQUAL(user_call(SYS_IRQ_ACK, WAIT_SLOT, 0, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_IRQ_ACK, IRQ_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(hosted_line_open(LINE), 1);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 1ul << IRQ_SLOT);
        CHECK_EQUAL(hosted_line_open(LINE), 0); /* masked until the driver is ready for the next */
        CHECK_EQUAL(irq_check(), 0);
        driver_rounds++;
        CHECK_EQUAL(user_call(SYS_IRQ_ACK, IRQ_SLOT, 0, 0, 0, 0), STATUS_OK);
    }
    /* A message cannot be masked: the second, which comes before the first is acknowledged, signals too. */
    for (uint32_t i = 0; i < 2; i++) {
        hosted_raise(0, VECTOR_BASE + LINE);
        CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
        CHECK_EQUAL(user_first(), 1ul << IRQ_SLOT);
        CHECK_EQUAL(hosted_line_open(LINE), 0);
    }
    CHECK_EQUAL(user_call(SYS_IRQ_ACK, IRQ_SLOT, 0, 0, 0, 0), STATUS_OK);
    /* Console input comes the same way, with the bit of its own slot. */
    CHECK_EQUAL(user_call(SYS_WAIT, WAIT_SLOT, NOTIFY_FOREVER, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 1ul << CONSOLE_SLOT);
    CHECK_EQUAL(user_call(SYS_CONSOLE_READ, CONSOLE_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 5);
    CHECK_EQUAL(user_word(0), 0x6f6c6c6568ul); /* "hello" */
    CHECK_EQUAL(user_call(SYS_CONSOLE_READ, CONSOLE_SLOT, 0, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0);
    driver_rounds++;
    user_call(SYS_SLEEP, NOTIFY_FOREVER, 0, 0, 0, 0);
    CHECK(0);
}

static void program(uint32_t thread)
{
    if (thread != NUM_CPU) {
        driver(thread);
    }
    for (uint32_t i = 0; i < 3; i++) {
        user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
        CHECK_EQUAL(driver_rounds, i);
        hosted_raise_line(LINE);
        user_interrupts();
    }
    user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
    CHECK_EQUAL(driver_rounds, 3);
    hosted_serial_input("\x0e\x42hello", 7);
    hosted_raise_line(SERIAL_LINE);
    user_interrupts();
    user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
    CHECK_EQUAL(driver_rounds, 4);
    CHECK_EQUAL(hosted_line_open(LINE), 1);
    CHECK_EQUAL(user_call(SYS_PROCESS_KILL, CHILD_SLOT, 0, 0, 0, 0), STATUS_OK);
    user_call(SYS_SLEEP, arch_clock_ns() + 1000, 0, 0, 0, 0);
    CHECK_EQUAL(hosted_line_open(LINE), 0);
    /* The line of a dead driver stays masked. */
    hosted_raise_line(LINE);
    user_interrupts();
    CHECK_EQUAL(hosted_line_open(LINE), 0);
    CHECK_EQUAL(invariants_check(), 0);
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void through_calls(void)
{
    world_start(1);
    notify_define(0, 1);
    world_process(0, NONE, 300, 0, 1, 0, 100, NONE);
    world_process(1, 0, 100, 1, 1, 0, 150, NONE);
    CHECK_EQUAL(process_set_grant(1, IRQ_SLOT, GRANT_IRQ, LINE, 0, NONE), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(process_set_grant(1, IRQ_SLOT, GRANT_IRQ, NUM_IRQ_LINE, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(process_set_grant(1, IRQ_SLOT, GRANT_IRQ, LINE, 0, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(1, MESSAGE_SLOT, GRANT_MESSAGE, NUM_IRQ_LINE, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(process_set_grant(1, MESSAGE_SLOT, GRANT_MESSAGE, LINE, 0, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(1, NO_MESSAGE_SLOT, GRANT_MESSAGE, LINE + 1, 0, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(1, WAIT_SLOT, GRANT_NOTIFICATION, 0, RIGHT_WAIT, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(1, CONSOLE_SLOT, GRANT_CONSOLE, CONSOLE, 0, 0), STATUS_OK);
    CHECK_EQUAL(process_set_grant(0, CHILD_SLOT, GRANT_PROCESS, 1, 0, NONE), STATUS_OK);
    irq_define(LINE, 0, 1ul << IRQ_SLOT, 0, 0);
    irq_define_message(LINE, 0x20);
    irq_define_console(CONSOLE, 0, 1ul << CONSOLE_SLOT);
    irq_define_kernel_lines(0);
    for (uint32_t p = 0; p < 2; p++) {
        world_create(p);
        world_start_process(p);
    }
    world_run(program);
    CHECK_EQUAL(invariants_check(), 0);
}

/* A line that is not bound is masked for good and cannot be unmasked. */
static void stray(void)
{
    world_start(1);
    arch_line_route(9, 0, 0);
    arch_line_unmask(9);
    irq_interrupt(9);
    CHECK_EQUAL(hosted_line_open(9), 0);
    CHECK_EQUAL(irq_ack(9), ERR_BAD_STATE);
    CHECK_EQUAL(hosted_line_open(9), 0);
}

int main(void)
{
    through_calls();
    stray();
    return TEST_END();
}
