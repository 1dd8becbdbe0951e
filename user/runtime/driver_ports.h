/* Access to the I/O ports of a driver's device. */
#ifndef ASHLAR_DRIVER_PORTS_H
#define ASHLAR_DRIVER_PORTS_H

/* Finds the device that the driver's `driver_ports` names, if it has such an object; ends the program if the description does
 * not give it. Touches no port. */
void ports_start(void);

#endif
