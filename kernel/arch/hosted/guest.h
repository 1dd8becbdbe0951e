/* Guests of the hosted machine: a function of the test plays the guest. */
#ifndef ASHLAR_HOSTED_GUEST_H
#define ASHLAR_HOSTED_GUEST_H

#include <stdint.h>

#include "abi.h"
#include "config.h"

/* The state of a guest: the words of its vcpu page that are guest state. */
struct hosted_guest {
    uint64_t word[VCPU_WORDS];
    uint32_t flushes; /* calls of arch_vcpu_flush since reset */
    uint32_t entries;
    uint32_t valid;   /* return value of the next import */
    uint32_t parts;   /* that the next entry needs */
    uint32_t loaded;  /* parts, since reset */
    uint32_t reports; /* parts of a machine check's report that are left */
};

/* Called for each entry; may change the guest's state; returns VCPU_EXIT_*. */
typedef uint32_t (*hosted_guest_step)(uint32_t vm, uint32_t nested_root, struct hosted_guest *guest);

void hosted_guest_set_step(hosted_guest_step step);
void hosted_guest_set_supported(uint32_t supported);
struct hosted_guest *hosted_guest(uint32_t vm);

#endif
