/* What the files of the hosted machine share. */
#ifndef ASHLAR_HOSTED_PARTS_H
#define ASHLAR_HOSTED_PARTS_H

#include <stdint.h>

extern _Thread_local uint32_t hosted_cpu;

void hosted_cells_reset(void);
void hosted_memory_reset(void);
void hosted_interrupts_reset(void);
void hosted_clock_reset(void);
void hosted_threads_reset(void);
void hosted_devices_reset(void);
void hosted_iommu_reset(void);

/* 1 if cpu's alarm has come due; it is then stopped. */
uint32_t hosted_alarm_due(uint32_t cpu);

/* 1: the clock is set by hand. */
uint32_t hosted_clock_by_hand(void);

/* Ends the process with a message: the test, or a layer, broke a rule of the machine. */
void hosted_fail(const char *what, uint64_t value) __attribute__((noreturn));

#endif
