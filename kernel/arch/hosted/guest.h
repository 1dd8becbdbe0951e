/* Guests on the hosted arch: a test says what the guest does, the layers above run it as if it were one. */
#ifndef ASHLAR_HOSTED_GUEST_H
#define ASHLAR_HOSTED_GUEST_H

#include <stdint.h>

#include "abi.h"
#include "config.h"

/* What a guest is made of here: the words of its vcpu page that are guest state. */
struct hosted_guest {
    uint64_t word[VCPU_WORDS];
    uint32_t flushes;   /* calls of arch_vcpu_flush since reset */
    uint32_t entries;
    uint32_t valid;     /* what the next import returns */
};

/* Called for each entry; may change the guest's state; returns VCPU_EXIT_*. */
typedef uint32_t (*hosted_guest_step)(uint32_t vm, uint32_t nested_root, struct hosted_guest *guest);

void hosted_guest_set_step(hosted_guest_step step);
void hosted_guest_set_supported(uint32_t supported);
struct hosted_guest *hosted_guest(uint32_t vm);

#endif
