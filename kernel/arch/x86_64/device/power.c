/* Power off. */
#include "arch.h"
#include "cpu/cpu.h"
#include "boot/platform.h"

#define DEBUG_EXIT_PORT 0xf4 /* QEMU's isa-debug-exit: exit status 2 * value + 1 */
#define SLEEP_ENABLE 0x2000
#define SLEEP_TYPE_SHIFT 10

struct platform platform;

void arch_power_off(uint32_t code)
{
    if (port_in8(DEBUG_EXIT_PORT) == 0) { /* an empty port reads 0xff */
        port_out8(DEBUG_EXIT_PORT, (uint8_t)code);
    }
    if (platform.pm1a_control != 0) {
        port_out16((uint16_t)platform.pm1a_control,
                   (uint16_t)(platform.sleep_type_a << SLEEP_TYPE_SHIFT | SLEEP_ENABLE));
        if (platform.pm1b_control != 0) {
            port_out16((uint16_t)platform.pm1b_control,
                       (uint16_t)(platform.sleep_type_b << SLEEP_TYPE_SHIFT | SLEEP_ENABLE));
        }
    }
    for (;;) {
        __asm__ volatile("cli\n\thlt");
    }
}
