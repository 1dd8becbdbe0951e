/* The page that random_opcodes executes and opcodes_parent writes: code, the registers it begins with. */
#ifndef ASHLAR_RANDOM_OPCODES_H
#define ASHLAR_RANDOM_OPCODES_H

#define CODE_ADDRESS 0x30000000ul
#define CODE_START 0x100     /* of the code in the page, somewhere before CODE_REGISTERS */
#define CODE_REGISTERS 0x800 /* rax rbx rcx rdx rsi rdi rbp r8..r15 */
#define CODE_RSP 0x880
#define CODE_ENTRY 0x888     /* address to jump to */
#define CODE_SELECTORS 0x890 /* es, ds, fs, gs: 8 bytes each */
#define CODE_FLAGS 0x8b0

#endif
