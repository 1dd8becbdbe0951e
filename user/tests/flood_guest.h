/* What the flooding guest and its neighbours have in common: time, their place on the network and on the disk, requests. */
#ifndef FLOOD_GUEST_H
#define FLOOD_GUEST_H

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "flood_schedule.h"
#include "virtio_guest.h"

#define APIC 0xfee00000ul
#define APIC_END 0x0b0u
#define APIC_SPURIOUS 0x0f0u
#define APIC_COMMAND 0x300u
#define APIC_TIMER 0x320u
#define APIC_LINT0 0x350u
#define APIC_COUNT 0x380u
#define APIC_PERIODIC 0x20000u
#define APIC_MASKED 0x10000u
#define APIC_EXTERNAL 0x700u
#define VECTOR_TIMER 0x50u
#define VECTOR_IPI 0x51u
#define IPI_SELF 0x44000u
#define MSR_WALL_CLOCK 0x4b564d00u

#define SECTOR 512u
#define REQUEST_MOST 65536u
#define REQUESTS 16u  /* that the monitor takes at a time */
#define PART 4194304u /* bytes of the disk that are used */
#define FRAME_HEADER 12u
#define FRAME_MOST 1514u
#define FRAME_TYPE 0xb588u /* 0x88b5 on the wire: free for experiments */
#define FRAMES 64u         /* buffers in each direction */

enum request_kind { REQUEST_READ = 0, REQUEST_WRITE = 1, REQUEST_FLUSH = 4 };
enum frame_kind { FRAME_ASKS = 1, FRAME_ANSWERS, FRAME_FLOODS };

static struct virtio_queue disk, receive, transmit;
static struct {
    uint32_t kind, unused;
    uint64_t sector;
} disk_header[REQUESTS];
static uint8_t disk_status[REQUESTS];
static uint8_t disk_data[REQUESTS][REQUEST_MOST] __attribute__((aligned(16)));
static uint32_t disk_free[REQUESTS], disk_num_free;
static uint8_t received[FRAMES][2048], sent[FRAMES][2048];
static uint32_t sent_free[FRAMES], sent_num_free;
static uint8_t own_address[6];
static uint64_t khz, started; /* ns since boot when the counter was 0 */
static uint32_t seed = 1;
static volatile uint64_t timer_interrupts, ipis;

/* ---- time ---- */

static inline uint64_t now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return started + (low | (uint64_t)high << 32) * 1000000 / khz;
}

/* `name` NUMBER in the command line; `otherwise` if it is not there. */
static inline uint64_t option(const char *text, const char *name, uint64_t otherwise)
{
    uint64_t number = otherwise, length = strlen(name);
    for (; *text != 0; text++) {
        if (strncmp(text, name, length) == 0) {
            env_text_number(text + length, strlen(text + length), &number);
            break;
        }
    }
    return number;
}

static inline void find_time(const char *command_line)
{
    static volatile uint32_t wall[3] __attribute__((aligned(16)));
    khz = option(command_line, "tsc_early_khz=", 1000000);
    guest_write_msr(MSR_WALL_CLOCK, (uint64_t)wall);
    started = wall[1] * 1000000000ul + wall[2];
}

static inline uint32_t any(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static inline void apic(uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(APIC + offset) = value;
}

static inline void say(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
static inline void say(const char *pattern, ...)
{
    char line[160];
    va_list list;
    va_start(list, pattern);
    format_list(line, sizeof line, pattern, list);
    va_end(list);
    guest_say(line);
}

static inline _Noreturn void stop(void)
{
    for (;;) {
        __asm__ volatile("cli\n\thlt");
    }
}

/* An interrupt that comes before the halt ends it: STI holds it back so long. */
static inline void sleep(void)
{
    __asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
}

/* ---- the disk ---- */

static inline void disk_begin(void)
{
    if (virtio_begin(VIRTIO_DISK, 2, 1u << 9) == 0) {
        say("FLOOD-FAILED: no disk\n");
        stop();
    }
    virtio_queue(&disk, VIRTIO_DISK, 0);
    virtio_run(VIRTIO_DISK);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        disk_free[disk_num_free++] = i;
    }
}

/* Requires: disk_num_free != 0. */
static inline void disk_ask(enum request_kind kind, uint32_t bytes)
{
    uint32_t i = disk_free[--disk_num_free], head = 3 * i;
    uint16_t writes = kind == REQUEST_READ ? VIRTIO_DEVICE_WRITES : 0;
    struct virtio_descriptor *at = &disk.descriptor[head];

    disk_header[i].kind = kind;
    disk_header[i].sector = kind == REQUEST_FLUSH ? 0 : any() % (PART / bytes) * (bytes / SECTOR);
    at[0] = (struct virtio_descriptor){(uint64_t)&disk_header[i], 16, 1, (uint16_t)(head + (bytes != 0 ? 1 : 2))};
    at[1] = (struct virtio_descriptor){(uint64_t)disk_data[i], bytes, 1 | writes, (uint16_t)(head + 2)};
    at[2] = (struct virtio_descriptor){(uint64_t)&disk_status[i], 1, VIRTIO_DEVICE_WRITES, 0};
    disk_status[i] = 0xff;
    virtio_put(&disk, head);
}

/* Returns how many requests are done. */
static inline uint32_t disk_take(void)
{
    uint32_t head = 0, bytes = 0, done = 0;
    while (virtio_done(&disk, &head, &bytes)) {
        if (disk_status[head / 3] != 0) {
            say("FLOOD-FAILED: the disk answers %u\n", disk_status[head / 3]);
            stop();
        }
        disk_free[disk_num_free++] = head / 3;
        done++;
    }
    return done;
}

/* ---- the network ---- */

static inline void lend(uint32_t i)
{
    receive.descriptor[i] = (struct virtio_descriptor){(uint64_t)received[i], 2048, VIRTIO_DEVICE_WRITES, 0};
    virtio_put(&receive, i);
}

static inline void card_begin(void)
{
    if (virtio_begin(VIRTIO_CARD, 1, 1u << 5) == 0) {
        say("FLOOD-FAILED: no network card\n");
        stop();
    }
    for (uint32_t i = 0; i < 6; i++) {
        own_address[i] = *(volatile uint8_t *)(VIRTIO_CARD + 0x100 + i);
    }
    virtio_queue(&receive, VIRTIO_CARD, 0);
    virtio_queue(&transmit, VIRTIO_CARD, 1);
    for (uint32_t i = 0; i < FRAMES; i++) {
        lend(i);
        sent_free[sent_num_free++] = i;
    }
    virtio_run(VIRTIO_CARD);
    virtio_tell(&receive);
}

/* Sends to the client of the switch with this number, from 1, or to all where it is 0. Requires: sent_num_free != 0. */
static inline void card_send(uint32_t to, enum frame_kind kind, uint32_t bytes)
{
    uint32_t i = sent_free[--sent_num_free];
    uint8_t *frame = sent[i] + FRAME_HEADER;

    memset(sent[i], 0, FRAME_HEADER);
    memcpy(frame, own_address, 6);
    memcpy(frame + 6, own_address, 6);
    frame[5] = (uint8_t)to;
    if (to == 0) {
        memset(frame, 0xff, 6);
    }
    frame[12] = FRAME_TYPE & 0xff;
    frame[13] = FRAME_TYPE >> 8;
    frame[14] = (uint8_t)kind;
    transmit.descriptor[i] = (struct virtio_descriptor){(uint64_t)sent[i], FRAME_HEADER + bytes, 0, 0};
    virtio_put(&transmit, i);
}

static inline void card_take_sent(void)
{
    uint32_t head = 0, bytes = 0;
    while (virtio_done(&transmit, &head, &bytes)) {
        sent_free[sent_num_free++] = head;
    }
}

/* What kind of frame has come, and from which client; 0 if none has. */
static inline uint32_t card_take(uint32_t *from)
{
    uint32_t head = 0, bytes = 0, kind;
    if (virtio_done(&receive, &head, &bytes) == 0) {
        return 0;
    }
    kind = received[head][FRAME_HEADER + 14];
    *from = received[head][FRAME_HEADER + 11];
    lend(head);
    return kind != 0 ? kind : FRAME_FLOODS;
}

/* ---- interrupts ---- */

void guest_interrupt(uint64_t vector)
{
    if (vector == VIRTIO_VECTOR + VIRTIO_DISK_LINE) {
        virtio_end_interrupt(VIRTIO_DISK);
    } else if (vector == VIRTIO_VECTOR + VIRTIO_CARD_LINE) {
        virtio_end_interrupt(VIRTIO_CARD);
    } else if (vector == VECTOR_TIMER || vector == VECTOR_IPI) {
        timer_interrupts += vector == VECTOR_TIMER;
        ipis += vector == VECTOR_IPI;
        apic(APIC_END, 0);
    } else if (vector >= VIRTIO_VECTOR && vector < VIRTIO_VECTOR + 16) {
        guest_out(0xa0, 0x20); /* the interval timer and the clock, while they flood */
        guest_out(0x20, 0x20);
        timer_interrupts++;
    } else if (vector < 32) {
        say("FLOOD-FAILED: exception %lu\n", vector);
        stop();
    }
}

/* Everything works, and the interrupt controllers let interrupts in. */
static inline void begin(const char *command_line)
{
    guest_prepare();
    find_time(command_line);
    virtio_prepare_interrupts();
    apic(APIC_SPURIOUS, 0x1ff);
    apic(APIC_LINT0, APIC_EXTERNAL);
    disk_begin();
    card_begin();
}

/* Interrupts every so many ns; 0: not any more. */
static inline void tick(uint32_t period)
{
    apic(0x3e0, 0xb); /* a count is 1 ns */
    apic(APIC_TIMER, period != 0 ? APIC_PERIODIC | VECTOR_TIMER : APIC_MASKED);
    apic(APIC_COUNT, period);
}

#endif
