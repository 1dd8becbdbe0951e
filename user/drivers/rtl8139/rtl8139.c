/* Driver of the RTL8139C+ network adapter, in its descriptor mode, which the RTL8169 family has too.
 *
 * Protocols: pci with the bus, ethernet with one client. What the device is doing for the bus is where the program stands:
 * unbound(), running(), suspended(), failed(); what it is doing for the client is `client`. The client's requests stand in
 * two queues in the order they came; their first entries are in the device's descriptors. */
#include "rtl8139.h"

#include "../ethernet_life.h"

static void interrupt(void)
{
    uint16_t status = read16(ISR);

    if (client == OPEN && status != INT_GONE) {
        write16(ISR, status);
        reap_transmits();
        reap_receives();
        give_transmits();
        if ((status & INT_LINK) != 0u) {
            check_link();
        }
    } else {
        write16(ISR, 0xffff);
    }
    EMIT(PCI_IRQ_DONE);
}
