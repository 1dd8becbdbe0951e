/* uint32_t message_call(uint32_t slot, struct message *message) and its relatives. They load and store only the
 * words that the counts name: the words' registers are entered through a chain in which each step falls through to
 * the next lower word. struct message: badge at 0, count at 8, words from 16. */
#include "syscall_numbers.h"

        .text
/* Moves as many words as rsi says into (load) or out of (store) the message registers. rax = message. */
.macro WORD_CHAIN op
        cmp     $4, %rsi
        ja      30f
        je      4f
        cmp     $2, %rsi
        ja      3f
        je      2f
        test    %rsi, %rsi
        jz      20f
        jmp     1f
30:     cmp     $8, %rsi
        ja      31f
        je      8f
        cmp     $6, %rsi
        ja      7f
        je      6f
        jmp     5f
31:     cmp     $9, %rsi
        je      9f
        \op     9, %rbp
9:      \op     8, %rbx
8:      \op     7, %r15
7:      \op     6, %r14
6:      \op     5, %r13
5:      \op     4, %r12
4:      \op     3, %r9
3:      \op     2, %r8
2:      \op     1, %r10
1:      \op     0, %rdx
20:
.endm
.macro LOAD index, register
        mov     16+8*\index(%rax), \register
.endm
.macro STORE index, register
        mov     \register, 16+8*\index(%rax)
.endm

.macro SAVE
        push    %rbp                    /* the words' registers that C expects back */
        push    %rbx
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        push    %rsi                    /* the message, for the way back */
.endm
.macro RESTORE
        add     $8, %rsp                /* the message */
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbx
        pop     %rbp
        ret
.endm

/* Sends the message in rax and takes the answer, with the system call `number`. */
.macro EXCHANGE number
        SAVE
        mov     %rsi, %rax
        mov     8(%rax), %rsi
        WORD_CHAIN LOAD
        mov     $\number, %eax
        syscall
        test    %eax, %eax
        jnz     40f
        mov     (%rsp), %rax
        mov     %rdi, (%rax)
        mov     %rsi, 8(%rax)
        WORD_CHAIN STORE
        xor     %eax, %eax
40:     RESTORE
.endm

        .globl  message_call
message_call:
        EXCHANGE SYS_CALL

        .globl  message_reply_recv
message_reply_recv:
        EXCHANGE SYS_REPLY_RECV

        .globl  message_recv
message_recv:
        SAVE
        mov     $SYS_RECV, %eax
        syscall
        test    %eax, %eax
        jnz     50f
        mov     (%rsp), %rax
        mov     %rdi, (%rax)
        mov     %rsi, 8(%rax)
        WORD_CHAIN STORE
        xor     %eax, %eax
50:     RESTORE

        .globl  message_send
message_send:
        SAVE
        mov     %rsi, %rax
        mov     8(%rax), %rsi
        WORD_CHAIN LOAD
        mov     $SYS_SEND, %eax
        syscall
        RESTORE

        .globl  message_reply
message_reply:
        mov     %rdi, %rsi              /* the message is the only argument */
        xor     %edi, %edi
        SAVE
        mov     %rsi, %rax
        mov     8(%rax), %rsi
        WORD_CHAIN LOAD
        mov     $SYS_REPLY, %eax
        syscall
        RESTORE
        .section .note.GNU-stack, "", @progbits
