/* What start-up finds out about the machine once and interrupts and switches read: together in one cache line, so that they cost
 * one miss (kernel.ld asserts that they fit). */
#ifndef ASHLAR_X86_64_CONSTANTS_H
#define ASHLAR_X86_64_CONSTANTS_H

#define MACHINE_CONSTANT __attribute__((section(".bss.constants")))

#endif
