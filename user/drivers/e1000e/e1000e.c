/* Driver of Intel's 82574L network adapter, with one ring of descriptors in each direction.
 *
 * Protocols: pci with the bus, ethernet with one client. What the device is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for the client is `client`. The client's requests stand in
 * two queues in the order they came; their first entries are in the device's descriptors. */
#include "e1000e.h"

#include "../ethernet_life.h"

/* Reading the causes takes them, but not those of a device with a table of messages: they are written back. What they tell of is
 * looked at behind that. */
static void interrupt(void)
{
    uint32_t causes = read32(ICR);

    if (client == OPEN && causes != INT_GONE) {
        write32(ICR, causes);
        reap_transmits();
        reap_receives();
        give_transmits();
        if ((causes & INT_LSC) != 0u) {
            check_link();
        }
    }
    EMIT(PCI_IRQ_DONE);
}
