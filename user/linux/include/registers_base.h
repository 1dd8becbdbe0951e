/* Included before each file of the module: a driver's registers are where Linux has mapped them. */
#ifndef ASHLAR_REGISTERS_BASE_H
#define ASHLAR_REGISTERS_BASE_H

extern unsigned long registers_base;
#define REGISTERS_ADDRESS registers_base

#endif
