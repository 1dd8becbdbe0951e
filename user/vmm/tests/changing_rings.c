/* Rings that a guest changes while the device reads them, as another virtual CPU would: a thread writes all over the guest's memory
 * while the queues are served. Whatever is read, the device stays inside that memory, which the address sanitizer sees, comes back,
 * and is either going on or in need of a reset. The accesses race by intent: the monitor's own are volatile. */
#include <stdint.h>

static uint64_t base;
#define GUEST_BASE base

#include "../virtio/chain.c"
#include "../virtio/device.c"
#include "../virtio/queue.c"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../libc/tests/check.h"

#define MEMORY 0x8000u
#define TABLE 0x1000u
#define DRIVER 0x2000u
#define DEVICE 0x3000u
#define DATA 0x5000u
#define QUEUE_STEP 0x400u /* from the rings of one queue to those of the next */
#define SIZE 8u
#define ENOUGH 3000u         /* rounds that end in each way */
#define ROUNDS_MOST 3000000u /* the threads may seldom run at once */

uint64_t guest_size = MEMORY;
static uint8_t *memory;
static struct virtio device;
static uint64_t served, good, broken;
static volatile uint32_t is_over;

/* Reads and writes the ends of what the chain names, by the functions that all kinds of devices use. */
static enum virtio_answer touch(uint32_t queue, const struct chain *chain, uint32_t *written)
{
    uint8_t byte = (uint8_t)queue;
    uint32_t readable = chain_readable(chain), writable = chain_writable(chain);

    CHECK(chain->readable + chain->writable <= QUEUE_MAX);
    served++;
    if (readable != 0) {
        chain_read(chain, 0, &byte, 1);
        chain_read(chain, readable - 1, &byte, 1);
    }
    if (writable != 0) {
        chain_write(chain, 0, &byte, 1);
        chain_write(chain, writable - 1, &byte, 1);
        *written = writable;
    }
    return VIRTIO_ANSWERED;
}

static const struct virtio_kind kind = {.number = 1, .queues = 2, .begin = touch};

/* Numbers that reach deep: small ones, addresses near the rings, and a few that are neither. */
static uint64_t plausible(uint64_t *random)
{
    static const uint64_t near[] = {TABLE, DRIVER, DEVICE, DATA, MEMORY};

    *random = *random * 6364136223846793005ul + 1442695040888963407ul;
    uint64_t r = *random >> 33;
    switch (r % 8) {
    case 0:
        return near[r / 8 % 5] + r / 64 % 64 * 8;
    case 1:
        return near[r / 8 % 5] - 1;
    case 2:
        return r << 31 ^ r;
    default:
        return r / 8 % 16;
    }
}

static void *scribble(void *nothing)
{
    uint64_t random = 1;

    while (is_over == 0) {
        uint64_t at = plausible(&random) * 2 % MEMORY;
        if (at < TABLE) {
            at += TABLE; /* where the rings are */
        }
        *(volatile uint16_t *)(memory + at % (MEMORY - 2)) = (uint16_t)plausible(&random);
    }
    return nothing;
}

static void put_number(uint64_t at, uint64_t value, uint32_t bytes)
{
    memcpy(memory + at, &value, bytes);
}

/* A ready device whose queues hold requests that are good until the other thread writes over them. */
static void begin_round(void)
{
    virtio_init(&device, &kind);
    virtio_write(&device, REG_STATUS, 3);
    for (uint32_t i = 0; i < 2; i++) {
        virtio_write(&device, REG_DRIVER_FEATURES_HALF, i);
        virtio_write(&device, REG_DRIVER_FEATURES, (uint32_t)((FEATURE_INDIRECT | FEATURE_VERSION_1) >> (32 * i)));
    }
    virtio_write(&device, REG_STATUS, 11);
    for (uint32_t queue = 0; queue < 2; queue++) {
        const uint32_t at[3] = {TABLE + queue * QUEUE_STEP, DRIVER + queue * QUEUE_STEP, DEVICE + queue * QUEUE_STEP};
        for (uint32_t i = 0; i < SIZE; i++) {
            put_number(at[0] + 16 * i, DATA + 64 * i, 8);
            put_number(at[0] + 16 * i + 8, 32, 4);
            put_number(at[0] + 16 * i + 12, i % 2 == 0 ? DESCRIPTOR_NEXT : DESCRIPTOR_WRITE, 2);
            put_number(at[0] + 16 * i + 14, i + 1, 2);
            put_number(at[1] + 4 + 2 * i, i & ~1u, 2);
        }
        put_number(at[1] + 2, SIZE, 2);
        virtio_write(&device, REG_QUEUE_SELECT, queue);
        virtio_write(&device, REG_QUEUE_SIZE, SIZE);
        for (uint32_t i = 0; i < 3; i++) {
            virtio_write(&device, REG_DESCRIPTORS + 16 * i, at[i]);
        }
        virtio_write(&device, REG_QUEUE_READY, 1);
    }
    virtio_write(&device, REG_STATUS, 15);
}

int main(void)
{
    pthread_t thread;

    memory = calloc(1, MEMORY);
    base = (uint64_t)memory;
    CHECK(pthread_create(&thread, 0, scribble, 0) == 0);
    for (uint32_t round = 0; round < ROUNDS_MOST && (good < ENOUGH || broken < ENOUGH); round++) {
        begin_round();
        for (uint32_t i = 0; i < 4; i++) {
            virtio_write(&device, REG_QUEUE_NOTIFY, i % 2);
        }
        uint32_t status = (uint32_t)virtio_read(&device, REG_STATUS);
        CHECK(status == 15 || status == (15 | STATUS_NEEDS_RESET));
        CHECK((is_broken(&device) != 0) == (status != 15));
        good += status == 15;
        broken += status != 15;
    }
    is_over = 1;
    pthread_join(thread, 0);
    CHECK(good >= ENOUGH && broken >= ENOUGH && served >= ENOUGH);
    free(memory);
    return 0;
}
