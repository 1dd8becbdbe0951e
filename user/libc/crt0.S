/* _start(argument): the first instruction of every program. The kernel sets rsp to a page-aligned stack top and
 * rdi to the argument from the system description. main's result is the exit code. */
#include "abi.h"
#include "syscall_numbers.h"
        .section .text.start, "ax"
        .globl  _start
_start:
        xor     %ebp, %ebp              /* ends the chain of frames for debuggers */
        and     $-16, %rsp              /* as the C calling convention wants it */
        call    main
        mov     %eax, %edi
        mov     $SYS_PROCESS_EXIT, %eax
        syscall
        ud2                             /* the call does not return */
        .section .note.ashlar, "a", @note     /* which version of the interface to the kernel the program is built for */
        .balign 4
        .long   owner_end - owner, version_end - version, PROGRAM_NOTE_ABI
owner:  .asciz  "Ashlar"
owner_end:
        .balign 4
version:
        .long   ABI_VERSION
version_end:
        .section .note.GNU-stack, "", @progbits
