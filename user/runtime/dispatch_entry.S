/* void dispatch_entry(void): where a new thread of a domain begins. */
        .text
        .globl  dispatch_entry
dispatch_entry:
        xor     %ebp, %ebp              /* ends the chain of frames for debuggers */
        and     $-16, %rsp              /* as the C calling convention wants it */
        call    dispatch_begin
        ud2                             /* the call does not return */
        .section .note.GNU-stack, "", @progbits
