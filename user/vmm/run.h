/* The loop that runs the guest. */
#ifndef VMM_RUN_H
#define VMM_RUN_H

#include <stdint.h>

enum run_kind { RUN_POWER_OFF, RUN_RESET, RUN_FAULT };

struct run_end {
    enum run_kind kind;
    const char *why; /* RUN_FAULT: what the guest did */
};

/* Runs the guest from the state in the vcpu page and the devices until it ends. `wake`: slot of
 * the notification that all but timers comes by, or NO_SLOT. */
struct run_end run_guest(uint32_t vm, uint32_t wake);

#endif
