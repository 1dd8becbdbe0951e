/* The links to those who drive the guest's disk and network, and to the bus of its PCI device. */
#ifndef VMM_CONNECT_H
#define VMM_CONNECT_H

#include "boot/config.h"

/* Makes the links and waits until disk, network and device are there: a guest that looks for its root finds it. One whose disk does
 * not come starts without; it gets a configuration interrupt when there is one. Returns null, or why the device cannot be passed. */
const char *connect(const struct config *configured);

#endif
