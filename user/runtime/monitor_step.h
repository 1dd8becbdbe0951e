/* A monitor's step. */
#ifndef ASHLAR_MONITOR_STEP_H
#define ASHLAR_MONITOR_STEP_H

#include "ashlar/monitor.h"

/* The step of any message, by the protocol's tables. A port calls the message's own one instead, which does the same. */
enum monitor_verdict monitor_step(struct monitor *monitor, uint32_t mailbox, uint64_t cookie, const void *payload,
                                  uint8_t is_incoming);

#endif
