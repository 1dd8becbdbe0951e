/* Says that it touches the device on one way only; on the other, the device is off. */
#include "ashlar/driver.h"
#include "pci_protocol.h"

void driver(void)
{
    uint32_t is_off = 1;

    for (;;) {
        if (AWAIT(PCI_ON, PCI_OFF) == PCI_ON) {
            is_off = 0;
        } else {
            EMIT(PCI_DONE);
            is_off = 1;
        }
        if (is_off) {
        } else {
            EMIT(PCI_ACCESS);
        }
        register_read32(0);
    }
}
