/* The PS/2 controller's keyboard port. A PC without one reads 0xff. */
#include "arch.h"
#include "cpu/cpu.h"
#include "device/keyboard_port.h"

#define PS2_DATA 0x60
#define PS2_STATUS 0x64
#define PS2_COMMAND 0x64
#define STATUS_OUTPUT_FULL 0x01
#define STATUS_INPUT_FULL 0x02
#define STATUS_MOUSE 0x20

static uint32_t present;

static void command(uint8_t byte)
{
    for (uint32_t i = 0; i < 10000 && (port_in8(PS2_STATUS) & STATUS_INPUT_FULL) != 0; i++) {
        cpu_pause();
    }
    port_out8(PS2_COMMAND, byte);
}

static uint32_t wait_output(void)
{
    for (uint32_t i = 0; i < 10000; i++) {
        if ((port_in8(PS2_STATUS) & STATUS_OUTPUT_FULL) != 0) {
            return port_in8(PS2_DATA);
        }
        cpu_pause();
    }
    return NONE;
}

void keyboard_port_init(void)
{
    if (port_in8(PS2_STATUS) == 0xff) {
        return;
    }
    for (uint32_t i = 0; i < 64 && (port_in8(PS2_STATUS) & STATUS_OUTPUT_FULL) != 0; i++) {
        port_in8(PS2_DATA);
    }
    command(0x20); /* read the configuration byte */
    uint32_t configuration = wait_output();
    if (configuration == NONE) {
        return;
    }
    command(0x60); /* write it: keyboard interrupt on, mouse off, scan codes translated to set 1 */
    for (uint32_t i = 0; i < 10000 && (port_in8(PS2_STATUS) & STATUS_INPUT_FULL) != 0; i++) {
        cpu_pause();
    }
    port_out8(PS2_DATA, (uint8_t)((configuration & 0xcd) | 0x41));
    command(0xae); /* keyboard port on */
    present = 1;
}

uint32_t arch_keyboard_get(void)
{
    uint8_t status;
    if (present == 0) {
        return NONE;
    }
    status = port_in8(PS2_STATUS);
    if ((status & STATUS_OUTPUT_FULL) == 0) {
        return NONE;
    }
    uint8_t code = port_in8(PS2_DATA);
    return (status & STATUS_MOUSE) != 0 ? NONE : code;
}
