# How a program of the set starts on a core without an operating system, and how its `entry` is called: with empty caches.
# In the emulator, which starts at `_start`, `on_core` stays 0.

    .section .text.core, "ax"
    .globl core_start
core_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la t0, ended
    csrw mtvec, t0
    la t0, on_core
    li t1, 1
    sw t1, 0(t0)
    # The arguments as an operating system leaves them: there are none.
    li sp, 0x00f00000
    sw zero, 0(sp)
    mv a0, sp
    addi sp, sp, -64
    call run

    # The call of the system that ends the program, or a fault: the test bench sees a write to where no memory is.
    .align 2
ended:
    csrr t1, mcause
    li t0, 0x80000000
    sw t1, 0(t0)
stay:
    j stay

    .globl __wrap_entry
__wrap_entry:
    addi sp, sp, -16
    sw ra, 12(sp)
    lw t0, on_core
    beqz t0, enter
    .word 0x0000500f # VexRiscv: empties the data cache, a line a cycle; an access before the end would wait
    li t0, 200
flushed:
    addi t0, t0, -1
    bnez t0, flushed
    fence.i
    .rept 8 # more than may be fetched before the instruction cache is empty, which takes a cycle a line, too
    nop
    .endr
enter:
    call __real_entry
    .globl core_left
core_left:
    lw ra, 12(sp)
    addi sp, sp, 16
    ret

    .data
    .align 2
on_core:
    .word 0
