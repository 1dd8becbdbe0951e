/* A machine check while a guest ran. The processor holds the report until MCIP is cleared; another machine check before that
 * shuts it down. So the report is taken at once, and goes to the monitor. */
#include "guest/guest.h"

#define MSR_MCG_CAPABILITIES 0x179u
#define MSR_MCG_STATUS 0x17au
#define MSR_BANK_STATUS 0x401u /* + 4 * bank */
#define MCG_NUM_BANK 0xffu
#define BANK_VALID (1ul << 63)
#define NUM_BANK 32u

void guest_machine_check(uint64_t *status, uint64_t *bank)
{
    uint64_t banks = guest_msr_read(MSR_MCG_CAPABILITIES) & MCG_NUM_BANK;
    *status = guest_msr_read(MSR_MCG_STATUS);
    *bank = 0;
    for (uint32_t i = 0; i < NUM_BANK && i < banks; i++) {
        uint64_t report = guest_msr_read(MSR_BANK_STATUS + 4 * i);
        if (report & BANK_VALID) {
            if (*bank == 0) {
                *bank = report;
            }
            guest_msr_write(MSR_BANK_STATUS + 4 * i, 0);
        }
    }
    guest_msr_write(MSR_MCG_STATUS, 0);
}
