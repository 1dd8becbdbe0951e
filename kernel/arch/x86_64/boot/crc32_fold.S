/* void crc32_fold(uint64_t state[2], const uint8_t *bytes, uint64_t blocks)
 *
 * Folds `blocks` pieces of 16 bytes into the 128 bits of state: afterwards state has the CRC that state followed by the
 * pieces had. Carry-less multiplication; needs PCLMULQDQ and the vector unit.
 *
 * A piece that is 128 bits further from the end is multiplied by x^128 modulo the polynomial, each half by its own power; in
 * reflected order these are x^(128+64-32) and x^(128-32), shifted by one bit. */
    .section .rodata
    .balign 16
powers:
    .quad 0x1751997d0, 0x0ccaa009e

    .text
    .globl crc32_fold
crc32_fold:
    movdqu (%rdi), %xmm0
    movdqa powers(%rip), %xmm1
    test %rdx, %rdx
    jz 2f
1:  movdqa %xmm0, %xmm2
    pclmulqdq $0x00, %xmm1, %xmm0       # low half, first power
    pclmulqdq $0x11, %xmm1, %xmm2       # high half, second power
    movdqu (%rsi), %xmm3
    pxor %xmm2, %xmm0
    pxor %xmm3, %xmm0
    add $16, %rsi
    dec %rdx
    jnz 1b
2:  movdqu %xmm0, (%rdi)
    ret

    .section .note.GNU-stack, "", @progbits
