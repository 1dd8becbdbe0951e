/* The serial port before and beside the console layer: start-up messages and the last words of a fatal error. */
#ifndef ASHLAR_X86_64_SERIAL_H
#define ASHLAR_X86_64_SERIAL_H

void serial_init(void);
void serial_put_wait(char byte);

#endif
