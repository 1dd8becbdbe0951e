/* thread_entry(argument): where a started thread begins; the function stands on top of its stack. */
#include "syscall_numbers.h"
        .text
        .globl  thread_entry
thread_entry:
        xor     %ebp, %ebp
        pop     %rax                    /* thread_start() put the function there */
        call    *%rax                   /* rdi is still the argument; rsp is 16-byte aligned here */
        mov     $SYS_THREAD_EXIT, %eax
        syscall
        ud2                             /* the call does not return */
        .section .note.GNU-stack, "", @progbits
