#include "invariants.h"

#include "abi.h"
#include "buffer.h"
#include "console.h"
#include "container.h"
#include "cv.h"
#include "device.h"
#include "endpoint.h"
#include "frame.h"
#include "iommu.h"
#include "irq.h"
#include "notify.h"
#include "npt.h"
#include "pagemap.h"
#include "process.h"
#include "queue.h"
#include "sched.h"
#include "share.h"
#include "spinlock.h"
#include "stop.h"
#include "thread.h"
#include "tlb.h"
#include "uctx.h"
#include "vcpu.h"

#if DEBUG

#define ACROSS_LAYERS 99000u

/* Each layer's own invariants; the number counts as in kernel/layers.order. */
static uint32_t invariants_check_layers(void)
{
    uint32_t broken = spinlock_check();
    if (broken != 0u) {
        return 1000u + broken;
    }
    broken = console_check();
    if (broken != 0u) {
        return 2000u + broken;
    }
    broken = container_check();
    if (broken != 0u) {
        return 6000u + broken;
    }
    broken = frame_check();
    if (broken != 0u) {
        return 7000u + broken;
    }
    broken = pagemap_check();
    if (broken != 0u) {
        return 8000u + broken;
    }
    broken = tlb_check();
    if (broken != 0u) {
        return 9000u + broken;
    }
    broken = share_check();
    if (broken != 0u) {
        return 10000u + broken;
    }
    broken = queue_check();
    if (broken != 0u) {
        return 11000u + broken;
    }
    broken = uctx_check();
    if (broken != 0u) {
        return 12000u + broken;
    }
    broken = thread_check();
    if (broken != 0u) {
        return 13000u + broken;
    }
    broken = sched_check();
    if (broken != 0u) {
        return 14000u + broken;
    }
    broken = cv_check();
    if (broken != 0u) {
        return 15000u + broken;
    }
    broken = buffer_check();
    if (broken != 0u) {
        return 16000u + broken;
    }
    broken = endpoint_check();
    if (broken != 0u) {
        return 17000u + broken;
    }
    broken = notify_check();
    if (broken != 0u) {
        return 18000u + broken;
    }
    broken = process_check();
    if (broken != 0u) {
        return 19000u + broken;
    }
    broken = irq_check();
    if (broken != 0u) {
        return 20000u + broken;
    }
    broken = device_check();
    if (broken != 0u) {
        return 21000u + broken;
    }
    broken = iommu_check();
    if (broken != 0u) {
        return 22000u + broken;
    }
    broken = npt_check();
    if (broken != 0u) {
        return 23000u + broken;
    }
    broken = vcpu_check();
    if (broken != 0u) {
        return 24000u + broken;
    }
    broken = stop_check();
    if (broken != 0u) {
        return 26000u + broken;
    }
    return 0u;
}

/* The owner of an endpoint with waiting senders exists; the process of a waiting thread runs or is dying. */
static uint32_t invariants_check_across(void)
{
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        uint32_t owner = endpoint_owner(e);
        uint32_t sender = queue_peek(QUEUE_ENDPOINT_SEND_BASE + e);
        if (sender != NONE) {
            if (owner >= NUM_PROCESS) {
                return 1u;
            }
            uint32_t state = process_state(owner);
            if (state == PROCESS_EMPTY) {
                return 2u;
            }
        }
    }
    for (uint32_t t = NUM_CPU; t < NUM_THREAD; t = t + 1u) {
        uint32_t p = thread_process(t);
        uint32_t kind = thread_wait_kind(t);
        if (kind != WAIT_NONE) {
            if (p >= NUM_PROCESS) {
                return 3u;
            }
            uint32_t state = process_state(p);
            if (state != PROCESS_RUNNING && state != PROCESS_DYING) {
                return 4u;
            }
        }
    }
    return 0u;
}

uint32_t invariants_available(void)
{
    return 1u;
}

uint32_t invariants_check(void)
{
    uint32_t broken = invariants_check_layers();
    if (broken == 0u) {
        broken = invariants_check_across();
        if (broken != 0u) {
            broken = ACROSS_LAYERS + broken;
        }
    }
    return broken;
}

#else

uint32_t invariants_available(void)
{
    return 0u;
}

uint32_t invariants_check(void)
{
    return 0u;
}

#endif
