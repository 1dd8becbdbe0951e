/* What it says before the loop counts for the first time round only. */
#include "ashlar/driver.h"
#include "pci_protocol.h"

void driver(void)
{
    AWAIT(PCI_ON, PCI_OFF);
    EMIT(PCI_ACCESS);
    do {
        register_read32(0);
        if (AWAIT(PCI_OFF, PCI_ON) == PCI_OFF) {
            EMIT(PCI_DONE);
        }
    } while (1);
}
