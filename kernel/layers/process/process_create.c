/* Creation: container, page map, first message page, then the segments page by page. */
#include "abi.h"
#include "container.h"
#include "endpoint.h"
#include "notify.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "thread.h"

/* Of a LOADING process: the error because of which creation is being undone; STATUS_OK: none. Guarded by
 * LOCK_PROCESS_BASE + p. */
static uint32_t process_failure[NUM_PROCESS];

void process_create_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        process_failure[p] = STATUS_OK;
    }
}

void process_create_forget(uint32_t p)
{
    process_failure[p] = STATUS_OK;
}

uint32_t process_being_undone(uint32_t p)
{
    if (process_failure[p] != STATUS_OK) {
        return 1u;
    }
    return 0u;
}

/* The parent's container, which p's quota is split from. */
static uint32_t process_payer(uint32_t p)
{
    uint32_t payer = process_parent(p);
    if (payer == NONE) {
        payer = CONTAINER_ROOT;
    }
    return payer;
}

/* Records that p's threads have no message pages. Requires: p's lock held. */
static void process_forget_messages(uint32_t p)
{
    uint32_t first = process_first_thread(p);
    uint32_t count = process_num_threads(p);
    for (uint32_t i = 0u; i < NUM_THREAD && i < count; i = i + 1u) {
        thread_set_message_frame(first + i, NONE);
    }
}

/* Makes container, page map, and the message page of the first thread. If the message page cannot be made, the rest
 * is undone step by step; meanwhile p is LOADING, so that it can also be killed. Requires: p's lock held, p EMPTY. */
static uint32_t process_make(uint32_t p)
{
    uint32_t payer = process_payer(p);
    uint32_t quota = process_quota(p);
    uint32_t status = container_split(payer, p, quota);
    if (status != STATUS_OK) {
        return status;
    }
    status = pagemap_create(p);
    if (status != STATUS_OK) {
        container_merge(p);
        return status;
    }
    status = process_give_page(p, MESSAGE_VADDR, PROT_READ | PROT_WRITE, NONE, 0u);
    if (status != STATUS_OK) {
        process_forget_messages(p);
        process_set_state(p, PROCESS_LOADING);
        process_failure[p] = status;
        return STATUS_RESTART;
    }
    return status;
}

/* One step of undoing. Returns STATUS_RESTART, or the error that creation ends with. Requires: p's lock held. */
static uint32_t process_undo(uint32_t p)
{
    uint32_t status = process_failure[p];
    uint32_t more = pagemap_destroy_step(p);
    if (more == 1u) {
        return STATUS_RESTART;
    }
    container_merge(p);
    process_failure[p] = STATUS_OK;
    process_set_state(p, PROCESS_EMPTY);
    return status;
}

/* The notifications that p waits for begin a life with it. */
static void process_open_notifications(uint32_t p)
{
    for (uint32_t slot = 0u; slot < NUM_GRANT; slot = slot + 1u) {
        uint64_t g = process_grant(p, (uint64_t)slot);
        uint32_t kind = process_grant_kind(g);
        uint32_t object = process_grant_object(g);
        if (kind == GRANT_NOTIFICATION) {
            uint32_t owner = notify_owner(object);
            if (owner == p) {
                notify_open(object);
            }
        }
    }
}

/* Requires: p's lock held, p just made. */
static void process_begin(uint32_t p)
{
    uint32_t frame = pagemap_frame(p, MESSAGE_VADDR, PROT_READ);
    uint32_t first = process_first_thread(p);
    process_forget_messages(p);
    thread_set_message_frame(first, frame);
    for (uint32_t e = 0u; e < NUM_ENDPOINT; e = e + 1u) {
        uint32_t owner = endpoint_owner(e);
        if (owner == p) {
            endpoint_open(e);
        }
    }
    process_open_notifications(p);
    process_load_reset(p);
    process_set_state(p, PROCESS_LOADING);
}

uint32_t process_create(uint32_t p)
{
    uint32_t status = ERR_BAD_STATE;
    process_lock(p);
    uint32_t state = process_state_locked(p);
    uint32_t count = process_num_threads(p);
    uint32_t done = process_load_done(p);
    if (process_failure[p] != STATUS_OK) {
        status = process_undo(p);
    } else if (state == PROCESS_LOADING && done == 0u) {
        status = process_load_page(p);
    } else if (state == PROCESS_EMPTY && count > 0u) {
        status = process_make(p);
        if (status == STATUS_OK) {
            process_begin(p);
        }
    }
    done = process_load_done(p);
    if (status == STATUS_OK && done == 0u) {
        status = STATUS_RESTART;
    }
    process_unlock(p);
    return status;
}
