/* The interface between kernel and user programs: registers of system calls, error codes, page layouts. The system
 * calls are in kernel/syscalls.toml, their numbers in syscall_numbers.h. */
#ifndef ASHLAR_ABI_H
#define ASHLAR_ABI_H

/* The version of this interface. It goes up with each change that a program built before could notice. Each program's file
 * has a note that says which version it was built for (user/libc/crt0.S): a 32-bit number, of owner "Ashlar" and this type. */
#define ABI_VERSION 3u
#define PROGRAM_NOTE_ABI 1u

/* Registers of a system call (instruction `syscall`):
 *   in   rax = number, rdi = slot (or first argument), rsi = second argument,
 *        words/arguments 0..9 = rdx r10 r8 r9 r12 r13 r14 r15 rbx rbp
 *   out  rax = status (a STATUS_* code), rdi = result, rsi = second result, words as above for messages.
 * rcx and r11 are destroyed. Every other register is kept. */

#define MESSAGE_REGISTER_WORDS 10u
#define MESSAGE_MAX_WORDS 120u
/* Word i >= 10 of a message is at 64-bit index i of the thread's message page. */

/* Status codes. Every refused request returns one of these and changes nothing. */
#define STATUS_OK 0u
#define ERR_UNKNOWN_CALL 1u /* no such system call */
#define ERR_BAD_SLOT 2u     /* slot out of range, empty, of another kind, or without the required right */
#define ERR_BAD_ARGUMENT 3u /* a value out of its documented range */
#define ERR_BAD_ADDRESS 4u  /* not page aligned, not in user space, or not mapped as needed */
#define ERR_ALREADY_MAPPED 5u
#define ERR_QUOTA 6u            /* the container has no frame left */
#define ERR_NO_MEMORY 7u        /* the machine has no frame left */
#define ERR_PEER_DEAD 8u        /* the process at the other end has ended */
#define ERR_NO_REPLY_PENDING 9u /* nothing to reply to */
#define ERR_TIMEOUT 10u         /* the deadline passed */
#define ERR_CANCELLED 11u       /* the wait was cancelled because the process is being ended */
#define ERR_BAD_STATE 12u       /* the object is not in a state that allows this */
#define ERR_WOULD_BLOCK 13u
#define ERR_NOT_SUPPORTED 14u /* this machine lacks the feature */
#define STATUS_RESTART 15u    /* internal: preempted, run the call again; never seen by a user */

/* Protection bits of mappings. Write and execute together are refused. */
#define PROT_READ 1u
#define PROT_WRITE 2u
#define PROT_EXEC 4u

/* SYS_DMA_ADDRESS: devices see the page at its physical address. */
#define DMA_PHYSICAL 0xfffffffffffffffful

/* Grant kinds (boot table) and rights. An event that belongs to a slot (end of a child, interrupt, console input)
 * sets bit `slot` of the notification that the grant's badge names. */
#define GRANT_NONE 0u
#define GRANT_ENDPOINT 1u     /* object = endpoint, rights SEND | RECV, badge */
#define GRANT_NOTIFICATION 2u /* object = notification, rights SIGNAL | WAIT, badge = bits to set */
#define GRANT_BUFFER 3u       /* object = bounded buffer, rights INSERT | REMOVE */
#define GRANT_SHARE 4u        /* object = share, rights OFFER or ACCEPT, WRITE */
#define GRANT_PROCESS 5u      /* object = child process; badge = notification signalled on its death or NONE */
#define GRANT_IRQ 6u          /* object = line, badge = notification that it signals */
#define GRANT_MMIO 7u         /* object = device: a window of whole pages */
#define GRANT_PORT 8u         /* object = device: a range of I/O ports */
#define GRANT_DMA 9u          /* may learn physical addresses of its own pages */
#define GRANT_VM 10u          /* object = vm */
#define GRANT_CONSOLE 11u     /* object = console, badge = notification signalled on input or NONE */
#define GRANT_POWER 12u       /* may power the machine off */
#define GRANT_MESSAGE 13u     /* object = line: may learn the message by which a PCI device raises it */
#define RIGHT_SEND 1u
#define RIGHT_RECV 2u
#define RIGHT_SIGNAL 1u
#define RIGHT_WAIT 2u
#define RIGHT_INSERT 1u
#define RIGHT_REMOVE 2u
#define RIGHT_OFFER 1u
#define RIGHT_ACCEPT 2u
#define RIGHT_WRITE 4u /* of a share, at both ends: who accepts a page may write to it */

/* Process states: first result of SYS_PROCESS_STATUS. */
#define PROCESS_EMPTY 0u /* never created, or ended and all its resources freed */
#define PROCESS_LOADING 1u
#define PROCESS_RUNNING 2u
#define PROCESS_DYING 3u
/* End causes: second result of SYS_PROCESS_STATUS once the process is EMPTY again. */
#define END_EXIT 0x0u /* | exit code (low 16 bits) << 8 */
#define END_KILLED 0x1u
#define END_FAULT 0x2u /* | exception vector << 8 */

/* Fault message to the fault endpoint: word 0 = vector, 1 = error code, 2 = fault address, 3 = ip, 4 = sp, 5 =
 * flags. */
/* Its badge is FAULT_BADGE | kernel thread id; badges of ordinary senders have that bit clear. */
#define FAULT_BADGE (1ul << 63)
#define FAULT_WORDS 6u
#define FAULT_RETRY 1u /* reply word 0: run the instruction again */
#define FAULT_SKIP 2u  /* reply word 0: continue at the address in reply word 1 */

/* User address space, all below the canonical hole. */
#define USER_BASE 0x0000000000010000ul /* nothing can be mapped below, so a null pointer faults */
#define USER_END 0x0000700000000000ul
#define ENV_VADDR 0x0000600000000000ul     /* environment page, read-only */
#define MESSAGE_VADDR 0x0000600000100000ul /* message page of the process's thread i at + i * 4096, read-write */

/* The vcpu page: 64-bit word indices. It is read when SYS_VCPU_RUN begins and written when it returns; between, the
 * guest's state is in the processor. Nothing in it is trusted: a value that makes no sense gives
 * VCPU_EXIT_INVALID_STATE or harms that guest only.
 *   read at every run: VCPU_GPR, VCPU_RIP, VCPU_RFLAGS, VCPU_INJECT, VCPU_CONTROL, VCPU_TSC_OFFSET,
 *   VCPU_INTERRUPT_SHADOW, VCPU_CHANGED; of the other words only the groups whose bit is set in VCPU_CHANGED (which the
 *   kernel then clears). All words of guest state, of the exit and VCPU_INJECT are written at every return.
 * A new vcpu is in the processor's reset state, and the page shows it.
 * Segment: selector | attributes << 16 | limit << 32, then base. Attributes are the descriptor's bits 40..47 and 52..55
 * packed into 12 bits: type, S, DPL, P, AVL, L, D/B, G. */
#define VCPU_EXIT_REASON 0u
#define VCPU_EXIT_INFO1 1u /* see VCPU_EXIT_* */
#define VCPU_EXIT_INFO2 2u
/* ip after the instruction that exited; 0: the monitor must decode it. On processors that do not report it, it is
 * correct for instructions without redundant prefixes. */
#define VCPU_EXIT_NEXT_RIP 3u
/* Before a run: event to inject, vector | INJECT_*, or 0. After it: 0 if it was delivered, or the event whose
 * delivery the exit interrupted, which the next run injects if it is left there. */
#define VCPU_INJECT 4u
#define VCPU_CONTROL 5u          /* monitor: VCPU_CONTROL_* bits */
#define VCPU_TSC_OFFSET 6u       /* guest's time-stamp counter - processor's */
#define VCPU_INTERRUPT_SHADOW 7u /* 1: guest is in an interrupt shadow; clear it when skipping an instruction */
#define VCPU_CHANGED 8u          /* monitor: VCPU_CHANGED_* bits */
/* VCPU_EXIT_MEMORY: number of instruction bytes at VCPU_RIP that the processor reports. */
#define VCPU_FETCHED 9u
#define VCPU_FETCHED_BYTES 10u /* these bytes, in 2 words; none on processors that do not report them */
#define VCPU_GPR 16u           /* rax rcx rdx rbx rsp rbp rsi rdi r8..r15 */
#define VCPU_RIP 32u
#define VCPU_RFLAGS 33u
/* group VCPU_CHANGED_CONTROL */
#define VCPU_CR0 34u
#define VCPU_CR2 35u
#define VCPU_CR3 36u
#define VCPU_CR4 37u
#define VCPU_EFER 38u
#define VCPU_CR8 42u
#define VCPU_PAT 76u
/* group VCPU_CHANGED_DEBUG */
#define VCPU_DR6 39u
#define VCPU_DR7 40u
#define VCPU_DR0 43u /* dr0..dr3 */
/* group VCPU_CHANGED_SEGMENTS */
#define VCPU_CPL 41u
#define VCPU_SEGMENT 48u /* es cs ss ds fs gs ldtr tr: two words each: packed, base */
#define VCPU_GDTR 64u    /* limit, base */
#define VCPU_IDTR 66u
/* group VCPU_CHANGED_MSRS */
#define VCPU_KERNEL_GS_BASE 68u
#define VCPU_STAR 69u
#define VCPU_LSTAR 70u
#define VCPU_CSTAR 71u
#define VCPU_SFMASK 72u
#define VCPU_SYSENTER_CS 73u
#define VCPU_SYSENTER_ESP 74u
#define VCPU_SYSENTER_EIP 75u
#define VCPU_WORDS 80u
/* Answers to CPUID, which the guest gets without an exit; other leaves exit. The kernel reads them when the guest asks, and
 * never writes these words. The first answer that matches is used, so frequent ones should be first. */
#define VCPU_CPUID_COUNT 128u      /* at most NUM_CPUID_ANSWER */
#define VCPU_CPUID 129u            /* 3 words each: leaf | subleaf << 32, eax | ebx << 32, ecx | edx << 32 */
#define VCPU_CPUID_ANY 0xffffffffu /* as subleaf: any subleaf */
#define NUM_CPUID_ANSWER 32u

#define VCPU_CHANGED_CONTROL 1u
#define VCPU_CHANGED_SEGMENTS 2u
#define VCPU_CHANGED_MSRS 4u
#define VCPU_CHANGED_DEBUG 8u

#define INJECT_VALID (1ul << 31)
#define INJECT_EXTERNAL (0ul << 8) /* external interrupt; only when RFLAGS.IF is set and there is no shadow */
#define INJECT_NMI (2ul << 8)
#define INJECT_EXCEPTION (3ul << 8)
#define INJECT_ERROR_CODE (1ul << 11)    /* error code in bits 32..63 */
#define VCPU_CONTROL_INTERRUPT_WINDOW 1u /* exit as soon as the guest can take an external interrupt */

#define VCPU_EXIT_NONE 0u
/* info1: port | size << 16 | in << 24 | string << 25 | rep << 26 | address bytes << 32 (0: the processor does not
 * report it). */
#define VCPU_EXIT_IO 1u
/* info1: guest-physical address, info2: 1 write, 2 fetch, 4 while walking guest page tables. */
#define VCPU_EXIT_MEMORY 2u
#define VCPU_EXIT_CPUID 3u
#define VCPU_EXIT_MSR_READ 4u /* msr number in rcx */
#define VCPU_EXIT_MSR_WRITE 5u
#define VCPU_EXIT_HALT 6u
#define VCPU_EXIT_INTERRUPT_WINDOW 7u
#define VCPU_EXIT_DEADLINE 8u
#define VCPU_EXIT_NOTIFIED 9u
#define VCPU_EXIT_SHUTDOWN 10u /* triple fault; the guest's registers are undefined */
/* The state in the vcpu page cannot be entered; the page stays as it is, and the next run reads all groups. info1: the field
 * of Intel's control structure that is wrong, by its encoding, where the kernel knows; else 0. */
#define VCPU_EXIT_INVALID_STATE 11u
#define VCPU_EXIT_HYPERCALL 12u
#define VCPU_EXIT_UNSUPPORTED 13u /* info1: vendor's exit code, for a message only */
#define VCPU_EXIT_CACHE 14u       /* INVD or WBINVD: continue at VCPU_EXIT_NEXT_RIP */
/* An instruction that guests do not have (VMRUN, MONITOR, XSETBV, RDPMC ...). info1: the exception to inject, 6 or
 * 13. */
#define VCPU_EXIT_INSTRUCTION 15u
/* MOV from or to a debug register, on machines where the guest's breakpoints would be the host's: the monitor keeps the
 * registers and emulates the instruction, and breakpoints never come. info1: register | write << 8. */
#define VCPU_EXIT_DEBUG_REGISTER 16u
/* The processor reported an error of the hardware while the guest ran. info1: MCG_STATUS, info2: the first bank's status
 * that is valid, or 0. The kernel has cleared both. */
#define VCPU_EXIT_MACHINE_CHECK 17u

/* The trace: what a kernel built with TRACE=1 records, as a process with `trace = true` in the description finds it from the
 * address that its environment page names, read-only. First the counts: of each CPU a 64-bit number, one every TRACE_COUNT_BYTES,
 * the events recorded since boot. From TRACE_RINGS the rings of the CPUs, one after the other: event n of a CPU is at place
 * n % TRACE_RING_EVENTS of its ring. An event is 64 bits of time in nanoseconds since boot, 32 bits of kind (TRACE_SWITCH and so
 * on), 32 bits of detail. It is complete before it is counted. The place of the event after the last may be half written. */
#define TRACE_COUNT_BYTES 64u
#define TRACE_RINGS 4096u
#define TRACE_EVENT_BYTES 16u
#define TRACE_RING_EVENTS 65536u
#define TRACE_RING_BYTES 1048576ul
#define TRACE_SWITCH 1u    /* a thread gets the processor: its number */
#define TRACE_WAKE 2u      /* a thread becomes ready: its number */
#define TRACE_CALL 3u      /* a system call begins: its number */
#define TRACE_MESSAGE 4u   /* a message is delivered: the receiving thread */
#define TRACE_INTERRUPT 5u /* an interrupt is served: its vector */
#define TRACE_EXIT 6u      /* a guest stops: VCPU_EXIT_* */
#define TRACE_SPENT 7u     /* the running thread's budget ends: its number */
#define TRACE_PERIOD 8u    /* a thread's next period begins: its number */
#define TRACE_FAULT 9u     /* a program faults: the exception's vector */
#define TRACE_ENTER 10u    /* a guest runs: the number of its virtual machine */

#endif
