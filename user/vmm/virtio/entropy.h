/* The source of randomness: each request is filled with what the processor's own source gives. */
#ifndef VMM_ENTROPY_H
#define VMM_ENTROPY_H

#include <stdint.h>

#include "virtio/chain.h"

#define ENTROPY_DEVICE 4u /* its number among virtio devices */

/* Does the processor have RDRAND? */
uint32_t entropy_present(void);
/* Fills the chain's writable bytes, the first ENTROPY_MOST at most. Returns how many it has filled. */
uint32_t entropy_serve(const struct chain *chain);

#define ENTROPY_MOST 4096u

#endif
