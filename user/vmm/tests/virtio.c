/* The virtio device and its queue against a model of a driver: good requests in all shapes, each rule broken once, and random
 * rings, of which none may reach outside the guest's memory. The address sanitizer sees such a reach: the memory is one
 * block of the heap. */
#include <stdint.h>

static uint64_t base;
#define GUEST_BASE base

#include "../virtio/device.c"
#include "../virtio/queue.c"

#include <stdlib.h>
#include <string.h>

#include "../../libc/tests/check.h"

#define MEMORY 0x8000u
#define TABLE 0x1000u
#define DRIVER 0x2000u
#define DEVICE 0x3000u
#define INDIRECT 0x4000u
#define DATA 0x5000u
#define SIZE 8u

uint64_t guest_size = MEMORY;
static uint8_t *memory;
static struct virtio device;
static uint16_t put_in; /* running index of the driver */
static uint64_t served; /* requests that reached the device */

/* Stands in for a device: touches every byte that the chain names. */
static enum virtio_answer touch(uint32_t queue, const struct chain *chain, uint32_t *written)
{
    served++;
    CHECK(queue < 2 && chain->readable + chain->writable <= QUEUE_MAX);
    for (uint32_t i = 0; i < chain->readable + chain->writable; i++) {
        const struct segment *segment = &chain->segment[i];
        for (uint32_t k = 0; k < segment->length; k++) {
            volatile uint8_t *at = segment->at + k;
            if (i < chain->readable) {
                (void)*at;
            } else {
                *at = (uint8_t)(0x80 + k);
                *written += 1;
            }
        }
    }
    return VIRTIO_ANSWERED;
}

static uint32_t room[2] = {1, 1}, num_forgotten[2];

static uint32_t room_of(uint32_t queue)
{
    return room[queue];
}

static void forgotten(uint32_t queue)
{
    num_forgotten[queue]++;
}

static const struct virtio_kind one = {.number = 4, .queues = 1, .begin = touch};
static const struct virtio_kind two = {
    .number = 1, .queues = 2, .begin = touch, .has_room = room_of, .forget = forgotten};

static void write_number(uint64_t at, uint64_t value, uint32_t bytes)
{
    memcpy(memory + at, &value, bytes);
}

static uint64_t read_number(uint64_t at, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, memory + at, bytes);
    return value;
}

static void describe(uint32_t table, uint32_t index, uint64_t address, uint32_t length, uint32_t flags, uint32_t next)
{
    write_number(table + 16 * index, address, 8);
    write_number(table + 16 * index + 8, length, 4);
    write_number(table + 16 * index + 12, flags, 2);
    write_number(table + 16 * index + 14, next, 2);
}

static void offer(uint32_t head)
{
    write_number(DRIVER + 4 + 2 * (put_in % SIZE), head, 2);
    put_in++;
    write_number(DRIVER + 2, put_in, 2);
}

static uint32_t status(void)
{
    return virtio_read(&device, REG_STATUS);
}

/* What a driver does up to its queue being ready, but for what a test wants otherwise. */
static void negotiate(uint64_t features)
{
    put_in = 0;
    virtio_write(&device, REG_STATUS, 0);
    virtio_write(&device, REG_STATUS, 3);
    for (uint32_t i = 0; i < 2; i++) {
        virtio_write(&device, REG_DRIVER_FEATURES_HALF, i);
        virtio_write(&device, REG_DRIVER_FEATURES, (uint32_t)(features >> (32 * i)));
    }
    virtio_write(&device, REG_STATUS, 11);
}

static void place(uint32_t size, uint64_t table, uint64_t driver, uint64_t used)
{
    const uint64_t at[3] = {table, driver, used};
    virtio_write(&device, REG_QUEUE_SELECT, 0);
    virtio_write(&device, REG_QUEUE_SIZE, size);
    for (uint32_t i = 0; i < 3; i++) {
        virtio_write(&device, REG_DESCRIPTORS + 16 * i, (uint32_t)at[i]);
        virtio_write(&device, REG_DESCRIPTORS + 16 * i + 4, (uint32_t)(at[i] >> 32));
    }
    virtio_write(&device, REG_QUEUE_READY, 1);
}

static void start(uint64_t features)
{
    memset(memory, 0, MEMORY);
    virtio_init(&device, &one);
    negotiate(features);
    place(SIZE, TABLE, DRIVER, DEVICE);
    virtio_write(&device, REG_STATUS, 15);
    CHECK(status() == 15 && virtio_read(&device, REG_QUEUE_READY) == 1);
}

static void notify(void)
{
    virtio_write(&device, REG_QUEUE_NOTIFY, 0);
}

static void test_negotiation(void)
{
    virtio_init(&device, &one);
    CHECK(virtio_read(&device, 0) == MAGIC && virtio_read(&device, 4) == 2 && virtio_read(&device, 8) == one.number);
    virtio_write(&device, REG_DEVICE_FEATURES_HALF, 1);
    CHECK(virtio_read(&device, REG_DEVICE_FEATURES) == 1);
    negotiate(0); /* a driver of the version before */
    CHECK((status() & STATUS_FEATURES_OK) == 0);
    place(SIZE, TABLE, DRIVER, DEVICE);
    CHECK(virtio_read(&device, REG_QUEUE_READY) == 0);
    negotiate((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1) | 1); /* a feature that was not offered */
    CHECK((status() & STATUS_FEATURES_OK) == 0);
    virtio_write(&device, REG_STATUS, 7);
    CHECK((status() & STATUS_DRIVER_OK) == 0);
    negotiate((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    CHECK(status() == 11);
    virtio_write(&device, REG_QUEUE_SELECT, 1);
    CHECK(virtio_read(&device, REG_QUEUE_SIZE_MAX) == 0);
    virtio_init(&device, 0);
    negotiate((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    CHECK(status() == 0 && virtio_read(&device, 8) == 0);
}

static void test_rings(void)
{
    static const struct {
        uint64_t size, table, driver, used;
    } bad[] = {
        {0, TABLE, DRIVER, DEVICE},          {3, TABLE, DRIVER, DEVICE},         {128, TABLE, DRIVER, DEVICE},
        {SIZE, TABLE + 8, DRIVER, DEVICE},   {SIZE, TABLE, DRIVER + 1, DEVICE},  {SIZE, TABLE, DRIVER, DEVICE + 2},
        {SIZE, MEMORY - 64, DRIVER, DEVICE}, {SIZE, TABLE, MEMORY - 20, DEVICE}, {SIZE, TABLE, DRIVER, MEMORY - 68},
        {SIZE, ~15ul, DRIVER, DEVICE},       {SIZE, 1ul << 40, DRIVER, DEVICE}};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        virtio_init(&device, &one);
        negotiate((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
        place((uint32_t)bad[i].size, bad[i].table, bad[i].driver, bad[i].used);
        CHECK(status() == (11 | STATUS_NEEDS_RESET) && virtio_read(&device, REG_QUEUE_READY) == 0);
    }
    negotiate(
        (FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1)); /* the last byte of the memory may be used */
    place(SIZE, MEMORY - 128, DRIVER, DEVICE);
    CHECK(virtio_read(&device, REG_QUEUE_READY) == 1);
}

static void test_requests(uint64_t features)
{
    start(features);
    describe(TABLE, 2, DATA, 5, DESCRIPTOR_NEXT, 7); /* read, then write in two places, one the end of the memory */
    describe(TABLE, 7, DATA + 16, 4, DESCRIPTOR_NEXT | DESCRIPTOR_WRITE, 0);
    describe(TABLE, 0, MEMORY - 3, 3, DESCRIPTOR_WRITE, 0);
    for (uint32_t i = 1; i <= 70000; i++) { /* past the end of the running indices */
        write_number(DRIVER + 4 + 2 * SIZE, (uint16_t)(put_in), 2);
        offer(2);
        notify();
        CHECK(read_number(DEVICE + 2, 2) == (uint16_t)i && device.interrupts == INTERRUPT_USED && status() == 15);
        CHECK(read_number(DEVICE + 4 + 8 * ((i - 1) % SIZE), 8) == (7ul << 32 | 2));
        virtio_write(&device, REG_INTERRUPT_ACK, INTERRUPT_USED);
        CHECK(device.interrupts == 0);
    }
    CHECK(memory[DATA + 16] == 0x80 && memory[DATA + 19] == 0x83 && memory[MEMORY - 1] == 0x82 && memory[DATA] == 0);
    if ((features & FEATURE_EVENT_INDEX) != 0) {
        CHECK(read_number(DEVICE + 4 + 8 * SIZE, 2) == put_in);
        write_number(DRIVER + 4 + 2 * SIZE, (uint16_t)(put_in + 2), 2); /* an interrupt for the third from here */
    } else {
        write_number(DRIVER, DRIVER_NO_INTERRUPT, 2);
    }
    offer(2);
    offer(2);
    notify();
    CHECK(read_number(DEVICE + 2, 2) == put_in && device.interrupts == 0);
    offer(2);
    notify();
    CHECK(device.interrupts == ((features & FEATURE_EVENT_INDEX) != 0 ? INTERRUPT_USED : 0));
    for (uint32_t i = 0; i < SIZE; i++) { /* a full ring, in one notification */
        offer(2);
    }
    notify();
    CHECK(read_number(DEVICE + 2, 2) == put_in && status() == 15);
    CHECK((features & FEATURE_EVENT_INDEX) == 0 || read_number(DEVICE + 4 + 8 * SIZE, 2) == put_in);
}

static void test_indirect(void)
{
    start((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    describe(TABLE, 1, INDIRECT, 3 * 16, DESCRIPTOR_INDIRECT, 0);
    describe(INDIRECT, 0, DATA, 8, DESCRIPTOR_NEXT, 2);
    describe(INDIRECT, 2, DATA + 64, 8, DESCRIPTOR_WRITE, 0);
    offer(1);
    notify();
    CHECK(read_number(DEVICE + 4, 8) == (8ul << 32 | 1) && memory[DATA + 64] == 0x80 && status() == 15);
}

/* The request at head 0 breaks a rule: nothing of it is done, and nothing more until a reset. */
static void refused(void)
{
    uint64_t before = served;
    offer(0);
    notify();
    CHECK(status() == (15 | STATUS_NEEDS_RESET) && device.interrupts == INTERRUPT_CONFIGURATION && served == before);
    describe(TABLE, 0, DATA, 8, DESCRIPTOR_WRITE, 0);
    offer(0);
    notify();
    virtio_write(&device, REG_QUEUE_READY, 0);
    virtio_write(&device, REG_QUEUE_READY, 1);
    notify();
    CHECK(served == before && virtio_read(&device, REG_QUEUE_READY) == 0 && read_number(DEVICE + 2, 2) == 0);
    start((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    describe(TABLE, 0, DATA, 8, DESCRIPTOR_WRITE, 0);
    offer(0);
    notify();
    CHECK(served == before + 1 && status() == 15);
}

#define REFUSED(features, change)                                                                                      \
    do {                                                                                                               \
        start(features);                                                                                               \
        describe(TABLE, 0, DATA, 8, DESCRIPTOR_WRITE, 0);                                                              \
        change;                                                                                                        \
        refused();                                                                                                     \
    } while (0)

static void test_violations(void)
{
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, DATA, 8, DESCRIPTOR_NEXT, 0)); /* a loop of one */
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, DATA, 8, DESCRIPTOR_NEXT, 1);
            describe(TABLE, 1, DATA, 8, DESCRIPTOR_NEXT, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, DATA, 8, DESCRIPTOR_NEXT, SIZE);
            describe(TABLE, SIZE, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, DATA, 0, DESCRIPTOR_WRITE, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, MEMORY - 7, 8, DESCRIPTOR_WRITE, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, ~0ul - 3, 8, DESCRIPTOR_WRITE, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, 0, 0xffffffffu, DESCRIPTOR_WRITE, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, DATA, 8, DESCRIPTOR_WRITE | DESCRIPTOR_NEXT, 1); /* to be read after written */
            describe(TABLE, 1, DATA, 8, 0, 0));
    REFUSED(FEATURE_VERSION_1, describe(TABLE, 0, INDIRECT, 16, DESCRIPTOR_INDIRECT, 0);
            describe(INDIRECT, 0, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, INDIRECT, 16, DESCRIPTOR_INDIRECT, 0); /* inside another */
            describe(INDIRECT, 0, INDIRECT + 64, 16, DESCRIPTOR_INDIRECT, 0); describe(INDIRECT, 4, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, INDIRECT, 16, DESCRIPTOR_INDIRECT | DESCRIPTOR_NEXT, 1);
            describe(INDIRECT, 0, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, INDIRECT, 24, DESCRIPTOR_INDIRECT, 0);
            describe(INDIRECT, 0, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, INDIRECT, 0, DESCRIPTOR_INDIRECT, 0);
            describe(INDIRECT, 0, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, MEMORY - 16, 32, DESCRIPTOR_INDIRECT, 0);
            describe(MEMORY - 16, 0, DATA, 8, 0, 0));
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1),
            describe(TABLE, 0, INDIRECT, 16 * 16, DESCRIPTOR_INDIRECT, 0); /* longer than the queue */
            for (uint32_t i = 0; i < 16; i++) { describe(INDIRECT, i, DATA, 8, i < 8 ? DESCRIPTOR_NEXT : 0, i + 1); });
    REFUSED((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1), put_in = SIZE); /* more than the ring holds */
    start((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    offer(SIZE);
    notify();
    CHECK(status() == (15 | STATUS_NEEDS_RESET));
}

/* Rings of the second queue lie behind those of the first, as far as they are long. */
static void test_two_queues(void)
{
    const uint64_t features = FEATURE_INDIRECT | FEATURE_VERSION_1, behind = 0x400;
    uint64_t before = served;
    memset(memory, 0, MEMORY);
    virtio_init(&device, &two);
    negotiate(features);
    place(SIZE, TABLE, DRIVER, DEVICE);
    virtio_write(&device, REG_QUEUE_SELECT, 1);
    CHECK(virtio_read(&device, REG_QUEUE_READY) == 0 && virtio_read(&device, REG_QUEUE_SIZE_MAX) == QUEUE_MAX);
    const uint64_t at[3] = {TABLE + behind, DRIVER + behind, DEVICE + behind};
    virtio_write(&device, REG_QUEUE_SIZE, SIZE);
    for (uint32_t i = 0; i < 3; i++) {
        virtio_write(&device, REG_DESCRIPTORS + 16 * i, (uint32_t)at[i]);
    }
    virtio_write(&device, REG_QUEUE_READY, 1);
    virtio_write(&device, REG_QUEUE_SELECT, 2);
    CHECK(virtio_read(&device, REG_QUEUE_SIZE_MAX) == 0);
    virtio_write(&device, REG_STATUS, 15);
    CHECK(status() == 15);
    /* What waits in one is not served for a notification of the other, or of one that is not there. */
    describe(TABLE + (uint32_t)behind, 0, DATA, 8, DESCRIPTOR_WRITE, 0);
    write_number(DRIVER + behind + 2, 1, 2);
    notify();
    virtio_write(&device, REG_QUEUE_NOTIFY, 2);
    CHECK(served == before && device.interrupts == 0);
    room[1] = 0;
    virtio_write(&device, REG_QUEUE_NOTIFY, 1);
    CHECK(served == before);
    room[1] = 1;
    virtio_resume(&device);
    CHECK(served == before + 1 && device.interrupts == INTERRUPT_USED && read_number(DEVICE + behind + 2, 2) == 1 &&
          read_number(DEVICE + 2, 2) == 0);
    /* A queue that is taken out of use is forgotten alone. */
    virtio_write(&device, REG_QUEUE_SELECT, 1);
    uint32_t forgotten_before[2] = {num_forgotten[0], num_forgotten[1]};
    virtio_write(&device, REG_QUEUE_READY, 0);
    CHECK(num_forgotten[0] == forgotten_before[0] && num_forgotten[1] == forgotten_before[1] + 1);
    virtio_write(&device, REG_QUEUE_READY, 1);
    num_forgotten[0] = num_forgotten[1];
    /* One broken queue stops both, and what both had under way is forgotten. */
    uint32_t forgot = num_forgotten[0];
    write_number(DRIVER + behind + 2, 1 + 2 * SIZE, 2);
    virtio_write(&device, REG_QUEUE_NOTIFY, 1);
    CHECK(status() == (15 | STATUS_NEEDS_RESET) && num_forgotten[0] == forgot + 1);
    describe(TABLE, 0, DATA, 8, DESCRIPTOR_WRITE, 0);
    offer(0);
    notify();
    CHECK(served == before + 1);
    virtio_write(&device, REG_STATUS, 0);
    CHECK(status() == 0 && num_forgotten[1] == num_forgotten[0]);
}

/* Registers and memory written at random, with many notifications: whatever is served lies in the guest's memory, and every
 * call comes back. `plausible` numbers reach deeper than any. */
static uint64_t plausible(void)
{
    static const uint64_t near[] = {TABLE, DRIVER, DEVICE, INDIRECT, DATA, MEMORY};
    switch (rand() % 4) {
    case 0:
        return (uint64_t)(rand() % 16);
    case 1:
        return near[rand() % 6] + (uint64_t)(rand() % 64) * 8;
    case 2:
        return near[rand() % 6] - 1;
    default:
        return (uint64_t)rand() << 33 ^ (uint64_t)rand();
    }
}

static void test_random(void)
{
    uint64_t before = served, broken = 0;
    srand(1);
    for (uint32_t round = 0; round < 20000; round++) {
        start(rand() % 4 ? (FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1) : FEATURE_VERSION_1);
        for (uint32_t i = 0; i < SIZE; i++) {
            uint32_t flags = rand() % 8 ? (uint32_t)rand() % 4 : (uint32_t)rand() % 8;
            describe(TABLE, i, rand() % 8 ? DATA + 8 * i : plausible(),
                     rand() % 8 ? 16 * (1 + i % 3) : (uint32_t)plausible(), flags,
                     (uint32_t)rand() % (SIZE + rand() % 2));
            describe(INDIRECT, i, rand() % 8 ? DATA : plausible(), 8, (uint32_t)rand() % 4, (uint32_t)rand() % SIZE);
        }
        for (uint32_t i = 0; i < 12; i++) {
            switch (rand() % 6) {
            case 0:
                write_number((uint64_t)rand() % (MEMORY - 8), plausible(), 1u << rand() % 4);
                break;
            case 1:
                virtio_write(&device, (uint32_t)rand() % 0x40 * 4, (uint32_t)plausible());
                break;
            default:
                offer((uint32_t)rand() % SIZE);
                notify();
            }
            CHECK((device.queue[0].broken != 0) == ((status() & STATUS_NEEDS_RESET) != 0));
        }
        broken += device.queue[0].broken;
    }
    CHECK(served - before > 10000 && broken > 1000 && broken < 20000); /* both paths were taken often */
}

int main(void)
{
    memory = malloc(MEMORY);
    base = (uint64_t)memory;
    test_negotiation();
    test_rings();
    test_requests((FEATURE_INDIRECT | FEATURE_EVENT_INDEX | FEATURE_VERSION_1));
    test_requests(FEATURE_VERSION_1);
    test_indirect();
    test_violations();
    test_two_queues();
    test_random();
    free(memory);
    return 0;
}
