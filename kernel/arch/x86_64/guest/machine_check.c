/* A machine check while a guest ran. The processor holds the report until MCIP is cleared; another machine check before that
 * shuts it down. So that is done at once; what the banks report goes to the monitor, and is taken a part at a time. */
#include "guest/guest.h"

#define MSR_MCG_CAPABILITIES 0x179u
#define MSR_MCG_STATUS 0x17au
#define MSR_BANK_STATUS 0x401u /* + 4 * bank */
#define MCG_NUM_BANK 0xffu
#define BANK_VALID (1ul << 63)
#define NUM_BANK 32u
#define PART 4u

uint64_t guest_machine_check(uint32_t *bank)
{
    uint64_t status = guest_msr_read(MSR_MCG_STATUS);
    guest_msr_write(MSR_MCG_STATUS, 0);
    *bank = 0;
    return status;
}

uint32_t guest_machine_check_part(uint32_t *bank, uint64_t *report)
{
    uint64_t banks = guest_msr_read(MSR_MCG_CAPABILITIES) & MCG_NUM_BANK;
    uint32_t first = *bank;
    if (first >= NUM_BANK || first >= banks) {
        return 0;
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < PART; i++) {
        uint32_t msr = MSR_BANK_STATUS + 4 * (first + i);
        if (first + i >= banks) {
            break;
        }
        uint64_t status = guest_msr_read(msr);
        if (status & BANK_VALID) {
            if (*report == 0) {
                *report = status;
            }
            guest_msr_write(msr, 0);
        }
    }
    *bank = first + PART;
    return 1;
}
