/* void arch_thread_start(void)        target of the first switch to a thread, on its empty kernel stack */
    .text
    .globl arch_thread_start
arch_thread_start:
    call trap_leave
    jmp arch_user_return
