/* A machine check while a guest ran. The processor holds the report until MCIP is cleared; another machine check before that
 * shuts it down. So the report is taken at once, and goes to the monitor. */
#include "guest/svm.h"

#define MSR_MCG_CAPABILITIES 0x179u
#define MSR_MCG_STATUS 0x17au
#define MSR_BANK_STATUS 0x401u /* + 4 * bank */
#define MCG_NUM_BANK 0xffu
#define BANK_VALID (1ul << 63)
#define NUM_BANK 32u

void svm_machine_check(uint32_t vm)
{
    uint64_t banks = svm_msr_read(MSR_MCG_CAPABILITIES) & MCG_NUM_BANK;
    svm_guest[vm].info1 = svm_msr_read(MSR_MCG_STATUS);
    svm_guest[vm].info2 = 0;
    for (uint32_t bank = 0; bank < NUM_BANK && bank < banks; bank++) {
        uint64_t status = svm_msr_read(MSR_BANK_STATUS + 4 * bank);
        if (status & BANK_VALID) {
            if (svm_guest[vm].info2 == 0) {
                svm_guest[vm].info2 = status;
            }
            svm_msr_write(MSR_BANK_STATUS + 4 * bank, 0);
        }
    }
    svm_msr_write(MSR_MCG_STATUS, 0);
}
