/* The boot table: what the `system` crate writes and start-up reads. Little endian, naturally aligned, no pointers.
 * The system image is this table followed by page-aligned payload; offsets count bytes from the image's first byte.
 * tools/system holds the same layout and a test that compares sizes and offsets. */
#ifndef ASHLAR_BOOT_TABLE_H
#define ASHLAR_BOOT_TABLE_H
#include <stdint.h>

#define BOOT_TABLE_MAGIC 0x4c42545241485341ul /* "ASHARTBL" in memory order A S H A R T B L */
#define BOOT_TABLE_VERSION 2u

#define BOOT_PROCESS_AUTOSTART 1u /* created and started by start-up; else by its parent */

struct boot_section { uint32_t offset; uint32_t count; };

enum boot_section_index {
    BOOT_CPUS, BOOT_PROCESSES, BOOT_THREADS, BOOT_SEGMENTS, BOOT_GRANTS, BOOT_ENDPOINTS, BOOT_NOTIFICATIONS,
    BOOT_BUFFERS, BOOT_SHARES, BOOT_IRQS, BOOT_DEVICES, BOOT_VMS, BOOT_CONSOLES, BOOT_NUM_SECTIONS
};

struct boot_header {
    uint64_t magic;
    uint32_t version;
    uint32_t table_size;      /* bytes, header included */
    uint64_t image_size;      /* bytes, payload included; a multiple of 4096 */
    uint32_t table_crc32;     /* IEEE CRC-32 of the table with this field zero */
    uint32_t payload_crc32;   /* IEEE CRC-32 of the bytes from payload_offset to image_size */
    uint64_t payload_offset;  /* multiple of 4096 */
    uint64_t memory_frames;   /* frames of usable memory this system needs, checked at boot */
    char name[32];
    struct boot_section sections[BOOT_NUM_SECTIONS];
};

struct boot_cpu { uint32_t reserved; uint32_t flags; };      /* count = CPUs the system needs */

struct boot_process {
    char name[32];
    uint32_t parent;          /* process index or NONE: parent's container is the root */
    uint32_t quota;           /* frames, descendants' quota included */
    uint32_t first_thread;    /* index into threads; the first is the initial one */
    uint32_t num_threads;
    uint32_t first_segment;
    uint32_t num_segments;
    uint32_t first_grant;
    uint32_t num_grants;
    uint32_t fault_endpoint;  /* endpoint or NONE */
    uint32_t flags;
    uint64_t entry;
    uint64_t stack_top;       /* initial thread; pages come as a segment */
    uint64_t argument;        /* rdi of the initial thread */
    uint64_t period_ns;       /* 0: no budget */
    uint64_t budget_ns;
};

struct boot_thread { uint32_t process; uint32_t cpu; uint32_t priority; uint32_t id; }; /* id = kernel thread id = NUM_CPU + index */

#define BOOT_SEGMENT_COPY 0u  /* frames charged to the process, filled from the image, rest zero */
#define BOOT_SEGMENT_IMAGE 1u /* the image's own frames, mapped read-only (or read+execute) */
struct boot_segment {
    uint64_t vaddr;           /* page aligned */
    uint64_t memory_size;     /* bytes, multiple of 4096 */
    uint64_t image_offset;    /* page aligned */
    uint64_t image_size;      /* bytes taken from the image, at most memory_size */
    uint32_t prot;            /* PROT_* */
    uint32_t kind;
};

struct boot_grant { uint32_t slot; uint32_t kind; uint32_t object; uint32_t rights; uint64_t badge; };
#define BOOT_ENDPOINT_FIFO 1u /* waiters in arrival order; default is priority order */
struct boot_endpoint { uint32_t owner; uint32_t flags; };     /* owner = receiving process */
struct boot_notification { uint32_t owner; uint32_t reserved; }; /* owner = waiting process */
struct boot_buffer { uint32_t capacity; uint32_t reserved; };    /* words, 1..BUFFER_CAPACITY */
struct boot_share { uint32_t from; uint32_t to; };            /* processes */
struct boot_irq { uint32_t gsi; uint32_t flags; uint32_t notification; uint32_t cpu; }; /* flags: 1 level, 2 active low */
struct boot_device {
    uint64_t base;
    uint64_t size;
    uint32_t kind;            /* GRANT_MMIO or GRANT_PORT */
    uint32_t owner;
    uint32_t function;        /* of PCI, bus << 8 | device << 3 | function; or NONE */
    uint32_t reserved;
};
struct boot_vm { uint32_t process; uint32_t reserved; };
struct boot_console { char name[32]; };                       /* entry 0 is "kernel" */

#endif
