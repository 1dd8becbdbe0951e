/* Asks the driver for the factorials of 0 to 12, again and again, and compares them with its own. It is written like a driver, so
 * that `ashlar drivers verify` checks it against the protocol too. */
#include "ashlar/driver.h"
#include "ashlar/print.h"
#include "skeleton_protocol.h"
#include "timer_protocol.h"

#define DRIVER_UP AT(SKELETON_NUMBER, MAIL_LINK_UP)
#define DRIVER_LOST AT(SKELETON_NUMBER, MAIL_LINK_LOST)

#define OPERAND_MOST 12u
#define PAUSE 100000000ul /* ns, between rounds and before another try */

/* The driver was ended: once it is there again, it has forgotten all. */
static void await_driver(void)
{
    print("LOST the driver\n");
    AWAIT(DRIVER_UP);
}

/* The driver may end meanwhile, too: if nothing awaited that, the news of its successor would take the place of it. */
static void rest(void)
{
    struct timer_arm body = {PAUSE};

    EMIT(TIMER_ARM, 0, &body);
    if (AWAIT(TIMER_FIRED, DRIVER_LOST) == DRIVER_LOST) {
        AWAIT(TIMER_FIRED);
        await_driver();
    }
}

/* Returns the factorial, or 0 if there is none now. */
static uint32_t ask(uint32_t operand)
{
    struct skeleton_compute body = {operand};

    EMIT(SKELETON_COMPUTE, 0, &body);
    switch (AWAIT(SKELETON_COMPUTED, SKELETON_FAILED, DRIVER_LOST)) {
    case SKELETON_COMPUTED:
        return MAIL(skeleton_computed)->factorial;
    case SKELETON_FAILED:
        rest();
        return 0;
    default:
        await_driver();
        return 0;
    }
}

/* Returns 0 if it was cut short. */
static uint32_t ask_all(void)
{
    uint32_t expected = 1;

    for (uint32_t operand = 0; operand <= OPERAND_MOST; operand = operand + 1u) {
        expected = operand == 0u ? 1u : expected * operand;
        uint32_t factorial = ask(operand);
        if (factorial == 0u) {
            return 0;
        }
        if (factorial != expected) {
            print("WRONG %u! = %u, and not %u\n", operand, expected, factorial);
        }
    }
    print("RIGHT 0! to 12!, the last is %u\n", expected);
    return 1;
}

void driver(void)
{
    AWAIT(DRIVER_UP);
    for (;;) {
        if (ask_all()) {
            rest();
        }
    }
}

const struct protocol *const driver_protocols[] = {&timer_protocol, 0};
const struct protocol *const client_protocols[] = {&skeleton_protocol, 0};
