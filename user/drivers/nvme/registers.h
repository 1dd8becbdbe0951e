/* Registers, queue entries and answers of NVM Express 1.4. */
#ifndef NVME_REGISTERS_H
#define NVME_REGISTERS_H

#define CAP_LOW 0x00u
#define CAP_HIGH 0x04u
#define VERSION 0x08u
#define CC 0x14u
#define CSTS 0x1cu
#define AQA 0x24u /* entries of the admin queues, each less one */
#define ASQ 0x28u /* two words */
#define ACQ 0x30u
#define DOORBELLS 0x1000u /* two for each queue pair: submission, completion */

#define CAP_ENTRIES 0xffffu   /* low word: of an I/O queue at most, less one */
#define CAP_TIMEOUT_SHIFT 24u /* half seconds until it is ready */
#define CAP_STRIDE 0xfu       /* high word: doorbells are 4 << stride bytes apart */
#define CAP_NVM 0x20u         /* it has the commands of disks */
#define CAP_PAGE_SHIFT 16u    /* its smallest page is 4096 << this */
#define CAP_PAGE_MASK 0xfu

#define CC_ENABLE 0x1u
#define CC_SHUTDOWN 0x4000u   /* in order: it writes its cache first */
#define CC_SETTINGS 0x460000u /* entries of 64 and of 16 bytes, pages of 4096, commands of disks */
#define CSTS_READY 0x1u
#define CSTS_FATAL 0x2u
#define CSTS_SHUTDOWN 0xcu
#define CSTS_SHUT_DOWN 0x8u
#define GONE 0xffffffffu /* what is read where no device is */

/* An entry of a submission queue. */
struct entry {
    uint32_t operation; /* identifier << 16 | operation */
    uint32_t name_space;
    uint32_t spare[2];
    uint64_t metadata;
    uint64_t first; /* page */
    uint64_t rest;  /* the second page, or a list of all others */
    uint32_t word[6];
};

/* ... and of a completion queue. */
struct completion {
    uint32_t result;
    uint32_t spare;
    uint32_t queue;
    uint32_t status; /* final << 31 | status << 17 | phase << 16 | identifier */
};

#define IDENTIFIER_SHIFT 16u
#define COMPLETION_IDENTIFIER 0xffffu
#define COMPLETION_PHASE 0x10000u
#define COMPLETION_STATUS_SHIFT 17u
#define COMPLETION_STATUS_MASK 0x7ffu /* kind << 8 | code */
#define COMPLETION_FINAL 0x80000000u  /* the command would fail again */

#define STATUS_FIELD 0x002u /* of the command, is wrong */
#define STATUS_ABORTED 0x007u
#define STATUS_DELETED 0x008u /* its queue was */
#define STATUS_RANGE 0x080u   /* no such sectors */

#define ADMIN_CREATE_SUBMISSION 0x01u
#define ADMIN_CREATE_COMPLETION 0x05u
#define ADMIN_IDENTIFY 0x06u
#define ADMIN_SET_FEATURES 0x09u
#define QUEUE_CONTIGUOUS 0x1u
#define QUEUE_INTERRUPTS 0x2u

#define IDENTIFY_NAMESPACE 0u
#define IDENTIFY_CONTROLLER 1u
#define IDENTIFY_LIST 2u /* of namespaces that are there */
#define FEATURE_CACHE 0x06u
#define FEATURE_QUEUES 0x07u
#define QUEUES_ASKED 0x00010001u /* pairs, each half less one */
#define QUEUES_MORE 0xffffu      /* of the result, which has the same halves */

#define DISK_FLUSH 0x00u
#define DISK_WRITE 0x01u
#define DISK_READ 0x02u
#define DISK_FORCE 0x40000000u /* in word 2, beside the number of sectors less one */

/* The answer to IDENTIFY_CONTROLLER. */
#define ID_SERIAL 4u    /* 20 bytes of text */
#define ID_MODEL 24u    /* 40 */
#define ID_FIRMWARE 64u /* 8 */
#define ID_TRANSFER 77u /* bytes of a command at most: 4096 << this; 0: any */
#define ID_CACHE 525u
#define ID_CACHE_THERE 0x1u

/* ... and to IDENTIFY_NAMESPACE. */
#define ID_SECTORS 0u
#define ID_FORMAT 26u
#define ID_FORMAT_MASK 0xfu
#define ID_FORMATS 128u /* a word each */
#define FORMAT_METADATA 0xffffu
#define FORMAT_SHIFT 16u /* a sector has 1 << this bytes */
#define FORMAT_SHIFT_MASK 0xffu

#endif
