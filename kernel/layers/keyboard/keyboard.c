/* PS/2 scan code set 1, US layout. */
#include "keyboard.h"

#include "arch.h"
#include "config.h"

#define KEY_RELEASED 0x80u
#define KEY_EXTENDED 0xe0u
#define KEY_LEFT_SHIFT 0x2au
#define KEY_RIGHT_SHIFT 0x36u
#define KEY_CONTROL 0x1du
#define KEY_CAPS_LOCK 0x3au
#define KEY_SLASH 0x35u
#define NUM_KEY 64u

/* The keyboard's modifiers. Belongs to the CPU that serves KEYBOARD_LINE. */
struct keyboard {
    uint32_t shift;    /* 1: a shift key is down */
    uint32_t control;  /* 1: a control key is down */
    uint32_t caps;     /* 1: caps lock is on */
    uint32_t extended; /* 1: the last code was the extended prefix */
};

/* ASCII of a key, plain and with shift; 0: none. */
struct key {
    uint8_t plain;
    uint8_t shifted;
};

static struct keyboard keyboard[1];

static const struct key keyboard_key[NUM_KEY] = {
    {0u, 0u},    {27u, 27u},  {49u, 33u},  {50u, 64u},  {51u, 35u},  {52u, 36u},  {53u, 37u},   {54u, 94u},
    {55u, 38u},  {56u, 42u},  {57u, 40u},  {48u, 41u},  {45u, 95u},  {61u, 43u},  {127u, 127u}, {9u, 9u},
    {113u, 81u}, {119u, 87u}, {101u, 69u}, {114u, 82u}, {116u, 84u}, {121u, 89u}, {117u, 85u},  {105u, 73u},
    {111u, 79u}, {112u, 80u}, {91u, 123u}, {93u, 125u}, {13u, 13u},  {0u, 0u},    {97u, 65u},   {115u, 83u},
    {100u, 68u}, {102u, 70u}, {103u, 71u}, {104u, 72u}, {106u, 74u}, {107u, 75u}, {108u, 76u},  {59u, 58u},
    {39u, 34u},  {96u, 126u}, {0u, 0u},    {92u, 124u}, {122u, 90u}, {120u, 88u}, {99u, 67u},   {118u, 86u},
    {98u, 66u},  {110u, 78u}, {109u, 77u}, {44u, 60u},  {46u, 62u},  {47u, 63u},  {0u, 0u},     {42u, 42u},
    {0u, 0u},    {32u, 32u},  {0u, 0u},    {0u, 0u},    {0u, 0u},    {0u, 0u},    {0u, 0u},     {0u, 0u},
};

void keyboard_init(void)
{
    keyboard[0].shift = 0u;
    keyboard[0].control = 0u;
    keyboard[0].caps = 0u;
    keyboard[0].extended = 0u;
}

/* Records a modifier that was pressed (1) or released (0). Returns 1 if the key is a modifier. */
static uint32_t keyboard_modifier(uint32_t key, uint32_t pressed)
{
    if (key == KEY_LEFT_SHIFT || key == KEY_RIGHT_SHIFT) {
        keyboard[0].shift = pressed;
        return 1u;
    }
    if (key == KEY_CONTROL) {
        keyboard[0].control = pressed;
        return 1u;
    }
    if (key == KEY_CAPS_LOCK) {
        if (pressed == 1u) {
            keyboard[0].caps = 1u - keyboard[0].caps;
        }
        return 1u;
    }
    return 0u;
}

/* ASCII of a pressed key under the present modifiers, or NONE. */
static uint32_t keyboard_ascii(uint32_t key)
{
    if (key >= NUM_KEY) {
        return NONE;
    }
    uint32_t byte = (uint32_t)keyboard_key[key].plain;
    uint32_t letter = 0u;
    if (byte >= 97u && byte <= 122u) {
        letter = 1u;
    }
    if ((keyboard[0].shift ^ (keyboard[0].caps & letter)) == 1u) {
        byte = (uint32_t)keyboard_key[key].shifted;
    }
    if (keyboard[0].control == 1u && byte >= 64u) {
        byte = byte & 31u;
    }
    if (byte == 0u) {
        return NONE;
    }
    return byte;
}

uint32_t keyboard_interrupt(void)
{
    uint32_t code = arch_keyboard_get();
    if (code == NONE) {
        return NONE;
    }
    if (code == KEY_EXTENDED) {
        keyboard[0].extended = 1u;
        return NONE;
    }
    uint32_t key = code & (KEY_RELEASED - 1u);
    uint32_t pressed = 1u;
    if (code >= KEY_RELEASED) {
        pressed = 0u;
    }
    uint32_t extended = keyboard[0].extended;
    keyboard[0].extended = 0u;
    if (extended == 1u && key != KEY_CONTROL && key != KEY_SLASH && key != 0x1cu) {
        return NONE; /* cursor block: no ASCII; a fake shift may come with it */
    }
    uint32_t modifier = keyboard_modifier(key, pressed);
    if (modifier == 1u || pressed == 0u) {
        return NONE;
    }
    uint32_t byte = keyboard_ascii(key);
    return byte;
}
