/* Scan codes become ASCII: letters, shift, caps lock, control; releases and cursor keys give nothing. */
#include "arch.h"
#include "hosted.h"
#include "keyboard.h"
#include "test.h"

#define RELEASE 0x80u
#define KEY_A 0x1eu
#define KEY_2 0x03u
#define KEY_ENTER 0x1cu
#define SHIFT 0x2au
#define CONTROL 0x1du
#define CAPS_LOCK 0x3au
#define EXTENDED 0xe0u
#define CURSOR_UP 0x48u

static uint32_t press(uint32_t code)
{
    hosted_keyboard_input(code);
    return keyboard_interrupt();
}

/* After any sequence of codes the result is an ASCII byte or NONE. */
static void random_codes(void)
{
    test_random_start();
    for (uint64_t i = 0; i < test_operations(20000); i++) {
        uint32_t byte = press(test_random(256));
        CHECK(byte == NONE || (byte > 0 && byte < 128));
    }
}

int main(void)
{
    hosted_reset(1);
    keyboard_init();
    CHECK_EQUAL(keyboard_interrupt(), NONE);
    CHECK_EQUAL(press(KEY_A), 'a');
    CHECK_EQUAL(press(KEY_A | RELEASE), NONE);
    CHECK_EQUAL(press(SHIFT), NONE);
    CHECK_EQUAL(press(KEY_A), 'A');
    CHECK_EQUAL(press(KEY_2), '@');
    CHECK_EQUAL(press(SHIFT | RELEASE), NONE);
    CHECK_EQUAL(press(KEY_2), '2');
    CHECK_EQUAL(press(CAPS_LOCK), NONE);
    CHECK_EQUAL(press(KEY_A), 'A');
    CHECK_EQUAL(press(KEY_2), '2'); /* caps lock is for letters */
    CHECK_EQUAL(press(CAPS_LOCK), NONE);
    CHECK_EQUAL(press(CONTROL), NONE);
    CHECK_EQUAL(press(KEY_A), 1);
    CHECK_EQUAL(press(CONTROL | RELEASE), NONE);
    CHECK_EQUAL(press(KEY_ENTER), 13);
    CHECK_EQUAL(press(EXTENDED), NONE);
    CHECK_EQUAL(press(CURSOR_UP), NONE);
    CHECK_EQUAL(press(EXTENDED), NONE);
    CHECK_EQUAL(press(KEY_ENTER), 13); /* of the number pad */
    CHECK_EQUAL(press(KEY_A), 'a');
    random_codes();
    return TEST_END();
}
