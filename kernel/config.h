/* Bounds of the kernel's static tables. Each bound is stated here and nowhere else. */
#ifndef ASHLAR_CONFIG_H
#define ASHLAR_CONFIG_H

#define NUM_CPU 16u                 /* sets of CPUs are 64-bit masks: must stay at most 64 */
#define NUM_PROCESS 64u             /* owner sets are 64-bit masks: must stay at most 64 */
#define NUM_THREAD (NUM_CPU + 128u) /* the first NUM_CPU are the idle threads */
#define NUM_ENDPOINT 64u
#define NUM_NOTIFICATION 128u
#define NUM_BUFFER 16u
#define BUFFER_CAPACITY 64u /* slots of one bounded buffer, 64-bit words */
#define NUM_SHARE 64u
#define NUM_IRQ 32u        /* interrupt vectors the kernel uses: 32..63 */
#define NUM_DEVICE 64u     /* device resources: register windows, port ranges */
#define NUM_VM 8u          /* virtual machines, one virtual CPU each */
#define NUM_GRANT 64u      /* grant slots of one process */
#define NUM_CONSOLE 24u    /* console 0 is the kernel's own */
#define CONSOLE_RING 4096u /* bytes of output each console can hold back */
#define CONSOLE_INPUT_RING 256u
#define NUM_PRIORITY 256u  /* 0 lowest */
#define NUM_FRAME 4194304u /* physical memory above NUM_FRAME * 4 KiB = 16 GiB is not used */
#define FRAME_WORDS 512u   /* 64-bit words of a 4 KiB frame */

/* "No such object" for every 32-bit index. */
#define NONE 0xffffffffu

/* Thread queues: one per CPU and priority, then pending, then two per endpoint, and so on. */
#define QUEUE_READY_BASE 0u
#define QUEUE_PENDING_BASE (QUEUE_READY_BASE + NUM_CPU * NUM_PRIORITY)
#define QUEUE_ENDPOINT_SEND_BASE (QUEUE_PENDING_BASE + NUM_CPU)
#define QUEUE_ENDPOINT_RECV_BASE (QUEUE_ENDPOINT_SEND_BASE + NUM_ENDPOINT)
#define QUEUE_NOTIFICATION_BASE (QUEUE_ENDPOINT_RECV_BASE + NUM_ENDPOINT)
#define QUEUE_CV_BASE (QUEUE_NOTIFICATION_BASE + NUM_NOTIFICATION)
#define NUM_CV (2u * NUM_BUFFER)                   /* each bounded buffer has "not full" and "not empty" */
#define QUEUE_PARKED_BASE (QUEUE_CV_BASE + NUM_CV) /* one per CPU: threads that wait for their next period */
#define NUM_QUEUE (QUEUE_PARKED_BASE + NUM_CPU)

#endif
