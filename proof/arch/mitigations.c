/* What is cleared on the way to user mode, where the description asks for it. */
#include "arch.h"
#include "machine.h"
#include "parts.h"

/* As BOOT_MITIGATION_* of the boot table. */
#define MITIGATION_BUFFERS 1u
#define MITIGATION_PREDICTIONS 2u
#define MITIGATION_SELECTORS 8u
#define MSR_PREDICTION_COMMAND 0x49u
#define PREDICTION_BARRIER 1ul

static uint32_t mitigations_at_exit; /* MITIGATION_* */
static uint32_t mitigations_verw;    /* 1: buffers are cleared before each entry into a guest */

uint32_t mitigations_chosen(void)
{
    return mitigations_at_exit;
}

uint32_t mitigations_before_guest(void)
{
    return mitigations_verw;
}

/* Where the loaded page map is another one than at the last return to user mode. 1: GS is to be cleared, with the user's base. */
uint32_t mitigations_leave(void)
{
    uint32_t clears = 0u;
    uint32_t space = arch_loaded_root();
    uint32_t last = cpu_space();
    if (last != space) {
        cpu_set_space(space);
        if ((mitigations_at_exit & MITIGATION_SELECTORS) != 0u) {
            machine_load_ds(0u);
            machine_load_es(0u);
            machine_load_fs(0u);
            clears = 1u;
        }
        if ((mitigations_at_exit & MITIGATION_PREDICTIONS) != 0u) {
            machine_write_msr(MSR_PREDICTION_COMMAND, PREDICTION_BARRIER);
        }
    }
    if ((mitigations_at_exit & MITIGATION_BUFFERS) != 0u) {
        machine_clear_buffers();
    }
    return clears;
}

void mitigations_forget_space(void)
{
    cpu_set_space(NONE);
}
