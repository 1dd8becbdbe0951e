/* The local interrupt controller's registers in x2APIC mode: model-specific register 0x800 + n is the one at 16 * n in memory. What
 * differs: the identifier has 32 bits, the command register is one of 64, the logical name is fixed, there is a register for
 * interrupts to oneself, and what is reserved is refused. */
#include "devices/lapic_parts.h"

#define IDENTIFIER 0x02u
#define VERSION_NUMBER 0x03u
#define TASK_PRIORITY 0x08u
#define PROCESSOR_PRIORITY 0x0au
#define END 0x0bu
#define LOGICAL_NAME 0x0du
#define SPURIOUS 0x0fu
#define IN_SERVICE 0x10u
#define REQUEST_LAST 0x27u
#define ERROR 0x28u
#define COMMAND 0x30u
#define LVT_FIRST 0x32u
#define LVT_LAST 0x37u
#define INITIAL_COUNT 0x38u
#define CURRENT_COUNT 0x39u
#define DIVIDE 0x3eu
#define SELF 0x3fu
#define IN_MEMORY(number) ((number) << 4)

static uint32_t is_readable(uint32_t number)
{
    return number == IDENTIFIER || number == VERSION_NUMBER || number == TASK_PRIORITY ||
           number == PROCESSOR_PRIORITY || number == SPURIOUS || (number >= IN_SERVICE && number <= ERROR) ||
           (number >= LVT_FIRST && number <= CURRENT_COUNT) || number == DIVIDE;
}

static uint32_t is_writable(uint32_t number)
{
    return number == TASK_PRIORITY || number == END || number == SPURIOUS || number == ERROR ||
           (number >= LVT_FIRST && number <= INITIAL_COUNT) || number == DIVIDE;
}

uint32_t lapic_msr_read(struct lapic *lapic, uint32_t msr, uint64_t now, uint64_t *value)
{
    uint32_t number = msr - LAPIC_MSR;
    if (number == COMMAND) {
        *value = lapic->command_low | (uint64_t)lapic->command_high << 32;
    } else if (number == IDENTIFIER) {
        *value = lapic->identifier;
    } else if (number == LOGICAL_NAME) {
        *value = (lapic->identifier >> 4) << 16 | 1u << (lapic->identifier & 15);
    } else if (is_readable(number)) {
        *value = lapic_read(lapic, IN_MEMORY(number), now);
    } else {
        return 0;
    }
    return 1;
}

static uint32_t write_command(struct lapic *lapic, uint64_t value, uint64_t now)
{
    lapic->command_high = (uint32_t)(value >> 32);
    lapic_write(lapic, IN_MEMORY(COMMAND), (uint32_t)value, now);
    return 1;
}

uint32_t lapic_msr_write(struct lapic *lapic, uint32_t msr, uint64_t value, uint64_t now)
{
    uint32_t number = msr - LAPIC_MSR;
    if (number == COMMAND) {
        return write_command(lapic, value, now);
    }
    if (value >> 32 != 0) {
        return 0;
    }
    if (number == SELF) {
        if (value > 0xff) {
            return 0;
        }
        lapic_request(lapic, (uint32_t)value);
        return 1;
    }
    if (is_writable(number) == 0 || (value != 0 && (number == END || number == ERROR))) {
        return 0;
    }
    lapic_write(lapic, IN_MEMORY(number), (uint32_t)value, now);
    return 1;
}
