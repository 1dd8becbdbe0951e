/* Creation, step by step: container and page map; first message page; threads, endpoints and notifications of the new
 * life, a few at a time; then the segments page by page. A CPU marks a process before it makes a step, and makes it without
 * the process's lock, so that no lock is held while others are taken. Who finds the mark calls again. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "endpoint.h"
#include "notify.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"
#include "thread.h"

/* Stages after process_make. Stage 0: the message page of the first thread. */
#define STAGE_THREADS 1u
#define STAGE_ENDPOINTS (STAGE_THREADS + NUM_THREAD)
#define STAGE_GRANTS (STAGE_ENDPOINTS + NUM_ENDPOINT)
#define STAGE_LOADING (STAGE_GRANTS + NUM_GRANT)

#define PROCESS_ITEMS 4u /* stages of one step, which bounds the time between two preemption points */

/* building and end_cause are guarded by LOCK_PROCESS_BASE + p. The rest, of a LOADING process, is used by the CPU that has set
 * building; while it is 0, by who holds that lock. */
struct creation {
    uint32_t failure;   /* the error because of which creation is being undone; STATUS_OK: none */
    uint32_t stage;     /* the next one */
    uint32_t building;  /* BUILDING_*: whether a CPU makes one step, and does not hold the lock */
    uint32_t end_cause; /* the cause of the end that was asked for meanwhile, or NONE */
};

#define BUILDING_NO 0u
#define BUILDING_ON 1u
#define BUILDING_UNDO 2u /* it undoes: there may soon be nothing left that a thread could tear down */

static struct creation creation[NUM_PROCESS];

void process_create_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        creation[p].failure = STATUS_OK;
        creation[p].stage = 0u;
        creation[p].building = BUILDING_NO;
        creation[p].end_cause = NONE;
    }
}

uint32_t process_being_built(uint32_t p)
{
    if (creation[p].building == BUILDING_NO) {
        return 0u;
    }
    return 1u;
}

void process_build_begin(uint32_t p)
{
    creation[p].building = BUILDING_ON;
    if (creation[p].failure != STATUS_OK) {
        creation[p].building = BUILDING_UNDO;
    }
}

uint32_t process_build_finish(uint32_t p)
{
    uint32_t cause = creation[p].end_cause;
    creation[p].building = BUILDING_NO;
    creation[p].end_cause = NONE;
    return cause;
}

uint32_t process_request_end(uint32_t p, uint32_t cause)
{
    if (creation[p].building == BUILDING_UNDO) {
        return STATUS_RESTART;
    }
    if (creation[p].end_cause == NONE) {
        creation[p].end_cause = cause;
    }
    return STATUS_OK;
}

void process_create_forget(uint32_t p)
{
    creation[p].failure = STATUS_OK;
}

uint32_t process_being_undone(uint32_t p)
{
    if (creation[p].failure != STATUS_OK) {
        return 1u;
    }
    return 0u;
}

uint32_t process_created(uint32_t p)
{
    uint32_t loaded = process_load_done(p);
    if (creation[p].failure != STATUS_OK || creation[p].stage < STAGE_LOADING) {
        return 0u;
    }
    return loaded;
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

/* Makes container and page map. On an error nothing is changed. Requires: this CPU builds p, which is EMPTY. */
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
    }
    return status;
}

/* One step of undoing. Returns STATUS_RESTART, or the error that creation ends with: p is EMPTY then. Requires: this CPU
 * builds p. */
static uint32_t process_undo(uint32_t p)
{
    uint32_t status = creation[p].failure;
    uint32_t more = pagemap_destroy_step(p);
    if (more == 1u) {
        return STATUS_RESTART;
    }
    process_drop_spare(p);
    container_merge(p);
    creation[p].failure = STATUS_OK;
    return status;
}

/* The message page of the first thread, or one of its tables. If it cannot be made, the rest is undone step by step.
 * Requires: this CPU builds p. */
static void process_first_message(uint32_t p)
{
    uint32_t status = process_give_copy(p, MESSAGE_VADDR, PROT_READ | PROT_WRITE, NONE, 0u);
    if (status == STATUS_OK) {
        uint32_t frame = pagemap_frame(p, MESSAGE_VADDR, PROT_READ);
        uint32_t first = process_first_thread(p);
        thread_set_message_frame(first, frame);
        creation[p].stage = STAGE_THREADS;
    } else if (status != STATUS_RESTART) {
        creation[p].failure = status;
    }
}

/* The notification of this slot begins a life with p if p waits for it. */
static void process_open_notification(uint32_t p, uint64_t slot)
{
    uint64_t g = process_grant(p, slot);
    uint32_t kind = process_grant_kind(g);
    uint32_t object = process_grant_object(g);
    if (kind == GRANT_NOTIFICATION) {
        uint32_t owner = notify_owner(object);
        if (owner == p) {
            notify_open(object);
        }
    }
}

void process_begin_item(uint32_t p, uint32_t stage)
{
    if (stage < STAGE_ENDPOINTS) {
        uint32_t index = stage - STAGE_THREADS + 1u;
        uint32_t first = process_first_thread(p);
        uint32_t count = process_num_threads(p);
        if (index < count) {
            thread_set_message_frame(first + index, NONE);
        }
    } else if (stage < STAGE_GRANTS) {
        uint32_t owner = endpoint_owner(stage - STAGE_ENDPOINTS);
        if (owner == p) {
            endpoint_open(stage - STAGE_ENDPOINTS);
        }
    } else {
        process_open_notification(p, (uint64_t)(stage - STAGE_GRANTS));
    }
}

void process_begin_items(uint32_t p)
{
    uint32_t stage = creation[p].stage;
    for (uint32_t i = 0u; i < PROCESS_ITEMS; i = i + 1u) {
        if (stage >= STAGE_LOADING) {
            break;
        }
        process_begin_item(p, stage);
        stage = stage + 1u;
    }
    creation[p].stage = stage;
}

/* One step after process_make. Returns STATUS_OK, STATUS_RESTART, or an error. Requires: this CPU builds p, which is LOADING
 * and not created. */
static uint32_t process_create_step(uint32_t p)
{
    uint32_t status = STATUS_OK;
    if (creation[p].failure != STATUS_OK) {
        status = process_undo(p);
    } else if (creation[p].stage == 0u) {
        process_first_message(p);
    } else if (creation[p].stage < STAGE_LOADING) {
        process_begin_items(p);
    } else {
        status = process_load_step(p);
    }
    return status;
}

/* Ends the first step, whose status is `made`. Returns what process_create does. Requires: this CPU builds p, which is EMPTY, no
 * lock held. Ensures: it builds p no more. */
static uint32_t process_begin_leave(uint32_t p, uint32_t made)
{
    uint32_t status = made;
    if (status == STATUS_OK) {
        creation[p].stage = 0u;
        process_load_reset(p);
    }
    process_lock(p);
    process_build_finish(p); /* no end was asked for: process_kill refuses what is EMPTY */
    if (status == STATUS_OK) {
        process_set_state(p, PROCESS_LOADING); /* so that it can also be killed */
        status = STATUS_RESTART;
    }
    process_unlock(p);
    return status;
}

/* Ends a later step, whose status is `found`; undone: 1 if that was one of undoing. Returns what process_create does.
 * Requires: this CPU builds p, which is LOADING, no lock held. Ensures: it builds p no more. */
static uint32_t process_build_leave(uint32_t p, uint32_t undone, uint32_t found)
{
    uint32_t after = PROCESS_LOADING;
    uint32_t status = found;
    if (undone == 1u && status != STATUS_OK && status != STATUS_RESTART) {
        after = PROCESS_EMPTY;
    }
    if (status == STATUS_OK) {
        uint32_t created = process_created(p);
        if (created == 0u) {
            status = STATUS_RESTART;
        }
    }
    if (status == STATUS_OK) {
        process_forget_pieces(p); /* of a copy that the parent has begun in an earlier life */
    }
    process_build_end(p, after);
    return status;
}

/* What a CPU builds that process_build_enter has marked p for. */
#define BUILDS_FIRST 0x100u /* the first step: p is EMPTY */
#define BUILDS_NEXT 0x101u  /* a later one: p is LOADING */

/* Begins a step. Returns BUILDS_FIRST or BUILDS_NEXT, and this CPU builds p; STATUS_RESTART (another CPU does); ERR_BAD_STATE.
 * Requires: no lock held. */
static uint32_t process_build_enter(uint32_t p)
{
    uint32_t status = ERR_BAD_STATE;
    process_lock(p);
    uint32_t state = process_state_locked(p);
    uint32_t count = process_num_threads(p);
    uint32_t building = process_being_built(p);
    if (building == 1u) {
        status = STATUS_RESTART;
    } else if (state == PROCESS_EMPTY && count > 0u) {
        status = BUILDS_FIRST;
    } else if (state == PROCESS_LOADING) {
        uint32_t created = process_created(p);
        if (created == 0u) {
            status = BUILDS_NEXT;
        }
    }
    if (status == BUILDS_FIRST || status == BUILDS_NEXT) {
        process_build_begin(p);
    }
    process_unlock(p);
    return status;
}

uint32_t process_create(uint32_t p)
{
    uint32_t status = process_build_enter(p);
    if (status == BUILDS_FIRST) {
        uint32_t made = process_make(p);
        status = process_begin_leave(p, made);
    } else if (status == BUILDS_NEXT) {
        uint32_t undone = process_being_undone(p);
        uint32_t found = process_create_step(p);
        status = process_build_leave(p, undone, found);
    }
    return status;
}

uint32_t process_create_steps(uint32_t p)
{
    uint32_t status = STATUS_RESTART;
    uint32_t pending = 0u;
    while (status == STATUS_RESTART && pending == 0u) {
        status = process_build_enter(p);
        /* Before a step, too, so that it and what comes before it are two regions. */
        pending = arch_interrupt_pending();
        if (status == BUILDS_FIRST) {
            uint32_t made = STATUS_RESTART;
            if (pending == 0u) {
                /* It is asked between this step, which is the longest, and its end, too. */
                made = process_make(p);
                pending = arch_interrupt_pending();
            }
            status = process_begin_leave(p, made);
        } else if (status == BUILDS_NEXT) {
            uint32_t undone = process_being_undone(p);
            uint32_t found = STATUS_RESTART;
            if (pending == 0u) {
                found = process_create_step(p);
            }
            status = process_build_leave(p, undone, found);
        }
        if (pending == 0u) {
            pending = arch_interrupt_pending();
        }
    }
    return status;
}
