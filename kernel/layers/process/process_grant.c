/* Grants: what each process may name by slot number. */
#include "abi.h"
#include "process.h"
#include "process_parts.h"

/* 32 bytes, so that one never straddles a cache line. Constant after start-up: no lock. */
struct grant {
    uint32_t kind; /* GRANT_* */
    uint32_t object;
    uint32_t rights;
    uint32_t spare;
    uint64_t badge;
    uint64_t spare_word;
};

static struct grant grant[NUM_PROCESS * NUM_GRANT];

void process_set_grant(uint32_t p, uint32_t slot, uint32_t kind, uint32_t object, uint32_t rights, uint64_t badge)
{
    uint32_t g = p * NUM_GRANT + slot;
    grant[g].kind = kind;
    grant[g].object = object;
    grant[g].rights = rights;
    grant[g].badge = badge;
    if (kind == GRANT_PROCESS) {
        process_set_death(object, (uint32_t)badge, 1ul << slot);
    }
}

uint32_t process_grant_kind(uint32_t p, uint32_t slot)
{
    return grant[p * NUM_GRANT + slot].kind;
}

uint32_t process_grant_object(uint32_t p, uint32_t slot)
{
    return grant[p * NUM_GRANT + slot].object;
}

uint32_t process_grant_rights(uint32_t p, uint32_t slot)
{
    return grant[p * NUM_GRANT + slot].rights;
}

uint64_t process_grant_badge(uint32_t p, uint32_t slot)
{
    return grant[p * NUM_GRANT + slot].badge;
}
