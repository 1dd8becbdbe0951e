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
/* Takes the processor's report, so that the next one can come. Returns MCG_STATUS; *bank is the first bank whose report is to be
 * taken. */
uint64_t guest_machine_check(uint32_t *bank);
/* Takes the reports of some banks from *bank on, and moves it: *report becomes the first that is valid, unless it is one. Returns
 * 1, or 0 if no bank was left. */
uint32_t guest_machine_check_part(uint32_t *bank, uint64_t *report);

/* ---- registers.c ---- */
void guest_debug_write(const uint64_t dr[4]);
void guest_debug_read(uint64_t dr[4]);
uint64_t guest_debug_status_read(void); /* DR6 */
void guest_debug_status_write(uint64_t dr6);
uint64_t guest_msr_read(uint32_t msr);
void guest_msr_write(uint32_t msr, uint64_t value);

#endif
