/* The source of randomness: each request is filled with what the processor's own source gives. */
#ifndef VMM_ENTROPY_H
#define VMM_ENTROPY_H

#include <stdint.h>

#include "virtio/device.h"

extern const struct virtio_kind entropy_kind;

/* Does the processor have RDRAND? */
uint32_t entropy_present(void);
#endif
