/* The registers of `edu`, a device that QEMU has for those who learn to write drivers. */
#ifndef REGISTERS_H
#define REGISTERS_H

#define IDENTIFICATION 0x00u
#define IS_EDU 0xedu    /* its lowest byte */
#define FACTORIAL 0x08u /* the number is written, its factorial read */
#define STATUS 0x20u
#define STATUS_COMPUTING 0x01u
#define STATUS_INTERRUPT 0x80u /* interrupts when a factorial is there */
#define INTERRUPTS 0x24u
#define INTERRUPT_FACTORIAL 0x01u
#define ACKNOWLEDGE 0x64u

#endif
