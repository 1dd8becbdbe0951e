/* A network device as virtio shows it (virtio 1.2, section 5.1): one pair of queues, an address, whether the link is up. Frames
 * are copied between the guest's pages and the network's buffers, so no device ever does DMA to a guest's page. The guest
 * computes its checksums itself. */
#ifndef VMM_NIC_H
#define VMM_NIC_H

#include <stdint.h>

#include "virtio/device.h"

#define NIC_RECEIVE 0u /* queues */
#define NIC_TRANSMIT 1u

extern const struct virtio_kind nic_kind;

/* The device whose frames these are from now on. */
void nic_attach(struct virtio *device);

/* ---- what the network calls ---- */

/* The link has come up or gone down. */
void nic_changed(void);

#endif
