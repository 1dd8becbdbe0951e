/* The invariant walk of debug builds (DEBUG=1). Every other CPU is held at an interrupt, where it holds no lock and each
 * operation in progress has left a consistent state; meanwhile this one walks all tables. */
#include "abi.h"
#include "arch.h"
#include "bbq.h"
#include "console.h"
#include "container.h"
#include "cv.h"
#include "device.h"
#include "endpoint.h"
#include "frame.h"
#include "intc.h"
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
#include "syscall.h"
#include "syscall_parts.h"
#include "thread.h"
#include "tlb.h"
#include "uctx.h"
#include "vcpu.h"

#if DEBUG

#define ACROSS_LAYERS 99000u

#ifndef LOCK_BIG
/* Requires: CELL_WALK is this CPU's. Ensures: every other CPU has stopped. */
static void syscall_gather(void)
{
    uint32_t here = arch_cpu();
    uint32_t count = arch_cpu_count();
    for (uint32_t cpu = 0u; cpu < count; cpu = cpu + 1u) {
        if (cpu != here) {
            intc_send(cpu, VECTOR_RESCHEDULE);
        }
    }
    uint64_t held = arch_atomic_load(CELL_HELD);
    while (held != (uint64_t)count - 1ul) {
        /* Someone may wait for this CPU to drop a translation before it can stop. */
        tlb_service();
        arch_spin_hint();
        held = arch_atomic_load(CELL_HELD);
    }
}
#endif

/* Lets the others go on. */
static void syscall_scatter(void)
{
    arch_atomic_store(CELL_WALK, 0u);
    uint64_t held = arch_atomic_load(CELL_HELD);
    while (held != 0u) {
        arch_spin_hint();
        held = arch_atomic_load(CELL_HELD);
    }
}

void syscall_hold(void)
{
    uint64_t walk = arch_atomic_load(CELL_WALK);
    if (walk != 0u) {
        arch_atomic_fetch_add(CELL_HELD, 1u);
        while (walk != 0u) {
            /* A CPU that waits for this one to drop a translation can't stop before it has its answer. */
            tlb_service();
            arch_spin_hint();
            walk = arch_atomic_load(CELL_WALK);
        }
        arch_atomic_fetch_add(CELL_HELD, 0xfffffffffffffffful);
    }
}

/* Each layer's own invariants; the number counts as in kernel/layers.order. */
static uint32_t syscall_check_layers(void)
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
    broken = bbq_check();
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
    return 0u;
}

/* Nobody waits at an endpoint of a process that is not there; who waits is a thread of a process that is. */
static uint32_t syscall_check_across(void)
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

uint32_t syscall_check_all(void)
{
    uint32_t broken = syscall_check_layers();
    if (broken == 0u) {
        broken = syscall_check_across();
        if (broken != 0u) {
            broken = ACROSS_LAYERS + broken;
        }
    }
    return broken;
}

uint32_t syscall_check(uint32_t current)
{
    uint64_t walking = arch_atomic_cas(CELL_WALK, 0u, 1u);
    if (walking != 0u) {
        /* Another CPU walks: the call runs again after this one has been held and let go. */
        return STATUS_RESTART;
    }
#ifndef LOCK_BIG
    /* With one big lock the others hold nothing and wait outside by themselves. */
    syscall_gather();
#endif
    uint32_t broken = syscall_check_all();
    syscall_scatter();
    uctx_set(current, UCTX_RDI, (uint64_t)broken);
    return STATUS_OK;
}

#else

void syscall_hold(void)
{
}

uint32_t syscall_check_all(void)
{
    return 0u;
}

uint32_t syscall_check(uint32_t current)
{
    uint64_t number = uctx_get(current, UCTX_RAX);
    if (number != SYS_CHECK) {
        return ERR_UNKNOWN_CALL;
    }
    return ERR_NOT_SUPPORTED;
}

#endif
