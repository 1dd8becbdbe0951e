/* The serial port without the console layer: for start-up messages and fatal errors. */
#ifndef ASHLAR_X86_64_SERIAL_H
#define ASHLAR_X86_64_SERIAL_H

void serial_init(void);
void serial_put_wait(char byte);

#endif
