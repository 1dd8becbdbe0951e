/* When a child that has ended is started again. */
#ifndef SUPERVISOR_RESTART_POLICY_H
#define SUPERVISOR_RESTART_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "ashlar/env.h"
#include "ashlar/string.h"

#define RESTART_LIMIT_MAX 16u /* as tools/system allows */

enum restart_when { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS };

struct restart_policy {
    enum restart_when when;
    uint64_t limit;                   /* restarts at most, */
    uint64_t within;                  /* in so many ns */
    uint64_t made[RESTART_LIMIT_MAX]; /* when the latest were, a ring */
    uint64_t count;                   /* of all since they were forgotten */
};

enum restart_verdict { RESTART_NOT_WANTED, RESTART_TOO_OFTEN, RESTART_NOW };

/* Reads "POLICY LIMIT NS" of the environment page. Returns 1, or 0 if it is not of that form; then the policy is never. */
static inline int restart_parse(struct restart_policy *policy, const char *value, size_t length)
{
    static const char on_failure[] = "on-failure ", always[] = "always ";
    uint64_t limit = 0, within = 0;
    size_t at = 0;

    *policy = (struct restart_policy){RESTART_NEVER, 0, 0, {0}, 0};
    if (length > strlen(on_failure) && strncmp(value, on_failure, strlen(on_failure)) == 0) {
        policy->when = RESTART_ON_FAILURE;
        at = strlen(on_failure);
    } else if (length > strlen(always) && strncmp(value, always, strlen(always)) == 0) {
        policy->when = RESTART_ALWAYS;
        at = strlen(always);
    }
    size_t taken = at == 0 ? 0 : env_text_number(value + at, length - at, &limit);
    at += taken + 1;
    if (taken == 0 || at >= length || value[at - 1] != ' ' || limit == 0 || limit > RESTART_LIMIT_MAX ||
        env_text_number(value + at, length - at, &within) != length - at) {
        policy->when = RESTART_NEVER;
        return 0;
    }
    policy->limit = limit;
    policy->within = within;
    return 1;
}

/* Did the child do what it should? `cause` as SYS_PROCESS_STATUS gives it. */
static inline int restart_failed(uint64_t cause)
{
    return cause != END_EXIT;
}

/* Whether a child that has ended at `now` by `cause` is to be started again. RESTART_NOW counts as a restart made now. */
static inline enum restart_verdict restart_decide(struct restart_policy *policy, uint64_t cause, uint64_t now)
{
    if (policy->when == RESTART_NEVER || (policy->when == RESTART_ON_FAILURE && !restart_failed(cause))) {
        return RESTART_NOT_WANTED;
    }
    if (policy->count >= policy->limit && now - policy->made[policy->count % policy->limit] < policy->within) {
        return RESTART_TOO_OFTEN;
    }
    policy->made[policy->count % policy->limit] = now;
    policy->count++;
    return RESTART_NOW;
}

/* A person has started the child: earlier restarts do not count any more. */
static inline void restart_forget(struct restart_policy *policy)
{
    policy->count = 0;
}

#endif
