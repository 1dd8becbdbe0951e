#ifndef ASHLAR_X86_64_KEYBOARD_PORT_H
#define ASHLAR_X86_64_KEYBOARD_PORT_H

/* Finds the PS/2 controller and enables the keyboard's interrupt. Start-up, once. */
void keyboard_port_init(void);

#endif
