/* Grants: the objects that a process may use, by slot number. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "notify.h"
#include "process.h"
#include "process_parts.h"

/* 32 bytes, so that one never straddles a cache line. Constant after start-up: no lock. */
struct grant {
    uint32_t use; /* GRANT_*; the rights from bit GRANT_RIGHTS on: one comparison checks both */
    uint32_t object;
    uint64_t badge;
    uint64_t spare[2];
};

#define GRANT_RIGHTS 8u
#define GRANT_KINDS ((1u << GRANT_RIGHTS) - 1u)

static struct grant grant[NUM_PROCESS * NUM_GRANT];

/* 1 if the badge is a notification or, where it is optional, NONE. */
static uint32_t grant_badge_valid(uint32_t kind, uint64_t badge)
{
    if (badge < NUM_NOTIFICATION) {
        return 1u;
    }
    if (badge == NONE && kind != GRANT_IRQ) {
        return 1u;
    }
    return 0u;
}

/* 1 if object is in the range of its kind. */
static uint32_t grant_object_valid(uint32_t kind, uint32_t object)
{
    uint32_t limit = NONE;
    if (kind == GRANT_ENDPOINT) {
        limit = NUM_ENDPOINT;
    } else if (kind == GRANT_NOTIFICATION) {
        limit = NUM_NOTIFICATION;
    } else if (kind == GRANT_BUFFER) {
        limit = NUM_BUFFER;
    } else if (kind == GRANT_SHARE) {
        limit = NUM_SHARE;
    } else if (kind == GRANT_PROCESS) {
        limit = NUM_PROCESS;
    } else if (kind == GRANT_IRQ || kind == GRANT_MESSAGE) {
        limit = NUM_IRQ_LINE;
    } else if (kind == GRANT_MMIO || kind == GRANT_PORT) {
        limit = NUM_DEVICE;
    } else if (kind == GRANT_VM) {
        limit = NUM_VM;
    } else if (kind == GRANT_CONSOLE) {
        limit = NUM_CONSOLE;
    }
    if (object < limit || kind == GRANT_DMA || kind == GRANT_POWER) {
        return 1u;
    }
    return 0u;
}

/* 0 if only one process may hold the grant and p is another, else 1. Requires: grant_object_valid. */
static uint32_t grant_holder_valid(uint32_t p, uint32_t kind, uint32_t object, uint32_t rights)
{
    uint32_t holder = p;
    if (kind == GRANT_ENDPOINT && (rights & RIGHT_RECV) != 0u) {
        holder = endpoint_owner(object);
    }
    if (kind == GRANT_NOTIFICATION && (rights & RIGHT_WAIT) != 0u) {
        holder = notify_owner(object);
    }
    if (holder == p) {
        return 1u;
    }
    return 0u;
}

uint32_t process_set_grant(uint32_t p, uint32_t slot, uint32_t kind, uint32_t object, uint32_t rights, uint64_t badge)
{
    uint32_t g = p * NUM_GRANT + slot;
    uint32_t valid = grant_object_valid(kind, object);
    if (valid == 0u || kind == GRANT_NONE || kind > GRANT_MESSAGE) {
        return ERR_BAD_ARGUMENT;
    }
    valid = grant_holder_valid(p, kind, object, rights);
    if (valid == 0u) {
        return ERR_BAD_ARGUMENT;
    }
    valid = grant_badge_valid(kind, badge);
    if (valid == 0u && (kind == GRANT_PROCESS || kind == GRANT_IRQ || kind == GRANT_CONSOLE)) {
        return ERR_BAD_ARGUMENT;
    }
    grant[g].use = kind | rights << GRANT_RIGHTS;
    grant[g].object = object;
    grant[g].badge = badge;
    if (kind == GRANT_PROCESS) {
        process_set_death(object, (uint32_t)badge, 1ul << slot);
    }
    return STATUS_OK;
}

uint64_t process_grant(uint32_t p, uint64_t slot)
{
    uint64_t within = arch_index_mask(slot, NUM_GRANT - 1ul);
    return (uint64_t)p * NUM_GRANT + within;
}

uint32_t process_grant_allows(uint64_t g, uint32_t kind, uint32_t rights)
{
    uint32_t asked = rights << GRANT_RIGHTS;
    if ((grant[g].use & (GRANT_KINDS | asked)) != (kind | asked)) {
        return 0u;
    }
    return 1u;
}

uint32_t process_grant_kind(uint64_t g)
{
    return grant[g].use & GRANT_KINDS;
}

uint32_t process_grant_object(uint64_t g)
{
    return grant[g].object;
}

uint64_t process_grant_badge(uint64_t g)
{
    return grant[g].badge;
}
