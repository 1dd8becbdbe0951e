/* Guests on processors of either make: which back end this machine has, and what both use. */
#ifndef ASHLAR_GUEST_H
#define ASHLAR_GUEST_H

#include <stdint.h>

/* Enables virtualisation on this CPU if it has what guests need. Start-up, on each CPU, when its segment, control and
 * system-call registers have their final values. */
void guest_init_cpu(void);

/* Why guests cannot run on this machine; 0 if they can. */
const char *guest_missing(void);

/* ---- machine_check.c ---- */
/* Takes the processor's report, so that the next one can come: MCG_STATUS, and the first bank's status that is valid or 0. */
void guest_machine_check(uint64_t *status, uint64_t *bank);

/* ---- registers.c ---- */
void guest_debug_write(const uint64_t dr[4]);
void guest_debug_read(uint64_t dr[4]);
uint64_t guest_debug_status_read(void); /* DR6 */
void guest_debug_status_write(uint64_t dr6);
uint64_t guest_msr_read(uint32_t msr);
void guest_msr_write(uint32_t msr, uint64_t value);

#endif
