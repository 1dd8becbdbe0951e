/* Private to the hosted machine. */
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

/* 1 if cpu's alarm is due, which is then stopped. */
uint32_t hosted_alarm_due(uint32_t cpu);

/* 1 if the clock is set by the test. */
uint32_t hosted_clock_by_hand(void);

/* Aborts with a message: the test or a layer has violated the interface. */
void hosted_fail(const char *what, uint64_t value) __attribute__((noreturn));

#endif
