/* The stage, kept with the process, counts through endpoints, what IOMMUs have refused, grants, processes (its children),
 * then shares, pages that threads were unmapping, and memory. A step completes the stage or brings the object of the stage closer to its end. */
#include "teardown.h"

#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "iommu.h"
#include "irq.h"
#include "notify.h"
#include "npt.h"
#include "pagemap.h"
#include "process.h"
#include "share.h"
#include "vcpu.h"

#define STAGE_REFUSED NUM_ENDPOINT
#define STAGE_GRANTS (STAGE_REFUSED + 1u)
#define STAGE_CHILDREN (STAGE_GRANTS + NUM_GRANT)
#define STAGE_SHARES (STAGE_CHILDREN + NUM_PROCESS)
#define STAGE_UNMAPPED (STAGE_SHARES + 1u)
#define STAGE_MEMORY (STAGE_UNMAPPED + NUM_THREAD)

/* Returns 1 if threads still wait at the endpoint, 0 if it is closed or not p's. */
static uint32_t teardown_endpoint(uint32_t p, uint32_t e)
{
    uint32_t more = 0u;
    uint32_t owner = endpoint_owner(e);
    if (owner == p) {
        more = endpoint_close(e);
    }
    return more;
}

/* Returns what p acquired through the grant in slot. Returns 1 if there is more to do. */
static uint32_t teardown_grant(uint32_t p, uint32_t slot)
{
    uint32_t more = 0u;
    uint64_t g = process_grant(p, (uint64_t)slot);
    uint32_t kind = process_grant_kind(g);
    uint32_t object = process_grant_object(g);
    if (kind == GRANT_IRQ) {
        irq_release(object);
    }
    if (kind == GRANT_NOTIFICATION) {
        uint32_t owner = notify_owner(object);
        if (owner == p) {
            notify_close(object);
        }
    }
    if (kind == GRANT_DMA) {
        more = iommu_destroy_step(p);
    }
    if (kind == GRANT_VM) {
        vcpu_destroy(object);
        more = npt_destroy_step(object);
    }
    return more;
}

/* Ends process q if it is p's child, and waits until it is EMPTY: its quota is part of p's. Returns 1 if it is to be called
 * again. */
static uint32_t teardown_child(uint32_t p, uint32_t q)
{
    uint32_t more = 0u;
    uint32_t parent = process_parent(q);
    if (parent == p) {
        uint32_t status = process_kill(q, END_KILLED);
        if (status == STATUS_RESTART) {
            more = 1u;
        } else {
            process_wait_empty(q);
        }
    }
    return more;
}

uint32_t teardown_step(uint32_t p)
{
    uint32_t stage = process_stage(p);
    uint32_t more = 0u;
    if (stage < STAGE_REFUSED) {
        more = teardown_endpoint(p, stage);
    } else if (stage < STAGE_GRANTS) {
        iommu_notice();
    } else if (stage < STAGE_CHILDREN) {
        more = teardown_grant(p, stage - STAGE_GRANTS);
    } else if (stage < STAGE_SHARES) {
        /* Masked, so that which lock it takes is read from its number and not from that of the stage. */
        uint64_t q = arch_index_mask((uint64_t)(stage - STAGE_CHILDREN), NUM_PROCESS - 1ul);
        more = teardown_child(p, (uint32_t)q);
    } else if (stage < STAGE_UNMAPPED) {
        share_process_ended(p);
    } else if (stage < STAGE_MEMORY) {
        uint32_t found = process_unmap_forget(p, stage - STAGE_UNMAPPED);
        if (found == 0u) {
            stage = STAGE_MEMORY - 1u;
        }
    } else {
        more = pagemap_destroy_step(p);
        return more;
    }
    if (more == 0u) {
        process_set_stage(p, stage + 1u);
    }
    return 1u;
}
