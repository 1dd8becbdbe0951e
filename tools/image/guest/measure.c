/* The guest's side of the driver benchmark: what Ashlar's clients net_echo and disk_verify do, done by a Linux program through
 * Linux's own drivers. Each measures by the guest's own clock and prints `DEVICE NAME US us`.
 *
 *   measure echo MIB              a stream of bytes to the echo service, which comes back and is checked
 *   measure disk MIB KIB DEPTH    the first MIB of the disk written, flushed and read, KIB at a time in four places that take
 *                                 turns, DEPTH requests under way, past the page cache */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ECHO_ADDRESS "10.0.2.100"
#define ECHO_PORT 7
#define DISK "/dev/sda"
#define CHUNK 65536u
#define MOST_DEPTH 32u
#define NUM_STRIPE 4u

static void fail(const char *what)
{
    printf("DEVICE-FAILED %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* ---- the stream ---- */

/* The bytes that net_echo sends: this again and again. */
#define PERIOD 65521u
static uint8_t pattern[PERIOD + CHUNK];

static void make_pattern(void)
{
    for (uint32_t i = 0; i < sizeof pattern; i++) {
        uint32_t place = i % PERIOD;
        pattern[i] = (uint8_t)(place * 167 + (place >> 8) * 13);
    }
}

static int connect_echo(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, ECHO_ADDRESS, &to.sin_addr);
    if (connection < 0 || connect(connection, (struct sockaddr *)&to, sizeof to) != 0) {
        fail("connecting");
    }
    if (fcntl(connection, F_SETFL, O_NONBLOCK) != 0) {
        fail("O_NONBLOCK");
    }
    return connection;
}

/* Sends as much as fits now. */
static uint64_t send_some(int connection, uint64_t sent, uint64_t bytes)
{
    uint64_t count = bytes - sent < CHUNK ? bytes - sent : CHUNK;
    ssize_t done = write(connection, pattern + sent % PERIOD, count);

    if (done < 0 && errno != EAGAIN) {
        fail("sending");
    }
    return sent + (done > 0 ? (uint64_t)done : 0);
}

/* Takes and checks what has come back. */
static uint64_t verify_some(int connection, uint64_t verified)
{
    static uint8_t in[CHUNK];
    ssize_t count = read(connection, in, sizeof in);

    if (count == 0 || (count < 0 && errno != EAGAIN)) {
        fail("receiving");
    }
    if (count > 0 && memcmp(in, pattern + verified % PERIOD, (size_t)count) != 0) {
        fail("a byte came back changed");
    }
    return verified + (count > 0 ? (uint64_t)count : 0);
}

static void echo(uint64_t bytes)
{
    uint64_t sent = 0;
    uint64_t verified = 0;
    int connection = connect_echo();

    make_pattern();
    while (verified < bytes) {
        struct pollfd what = {connection, (short)(sent < bytes ? POLLIN | POLLOUT : POLLIN), 0};
        if (poll(&what, 1, -1) < 0) {
            fail("poll");
        }
        if ((what.revents & POLLOUT) != 0) {
            sent = send_some(connection, sent, bytes);
        }
        if ((what.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            verified = verify_some(connection, verified);
        }
    }
}

/* ---- the disk ---- */

/* Places of the disk that were not asked for yet. */
struct stripe {
    uint64_t next;
    uint64_t end;
};

/* The next request's place, in one of the stripes that are left, or -1. */
static int64_t choose(struct stripe *stripe, uint64_t size)
{
    uint32_t first = (uint32_t)random();

    for (uint32_t i = 0; i < NUM_STRIPE; i++) {
        struct stripe *from = &stripe[(first + i) % NUM_STRIPE];
        if (from->next != from->end) {
            from->next += size;
            return (int64_t)(from->next - size);
        }
    }
    return -1;
}

/* Moves all `bytes` to or from the disk, with up to `depth` requests of `size` under way. */
static void move(int disk, uint16_t opcode, uint64_t bytes, uint64_t size, uint32_t depth)
{
    static uint8_t buffer[MOST_DEPTH][CHUNK] __attribute__((aligned(4096)));
    static struct iocb control[MOST_DEPTH];
    struct stripe stripe[NUM_STRIPE];
    uint32_t unused[MOST_DEPTH];
    uint32_t num_unused = depth;
    aio_context_t context = 0;

    for (uint32_t i = 0; i < NUM_STRIPE; i++) {
        stripe[i] = (struct stripe){bytes / NUM_STRIPE * i, bytes / NUM_STRIPE * (i + 1)};
    }
    for (uint32_t i = 0; i < depth; i++) {
        unused[i] = i;
    }
    if (syscall(SYS_io_setup, MOST_DEPTH, &context) != 0) {
        fail("io_setup");
    }
    for (;;) {
        struct iocb *list[MOST_DEPTH];
        struct io_event event[MOST_DEPTH];
        long count = 0;
        while (num_unused != 0) {
            int64_t place = choose(stripe, size);
            if (place < 0) {
                break;
            }
            uint32_t slot = unused[--num_unused];
            control[slot] = (struct iocb){.aio_lio_opcode = opcode, .aio_fildes = (uint32_t)disk, .aio_data = slot,
                                          .aio_buf = (uint64_t)buffer[slot], .aio_nbytes = size, .aio_offset = place};
            list[count++] = &control[slot];
        }
        for (long done = 0; done < count;) {
            long more = syscall(SYS_io_submit, context, count - done, list + done);
            if (more <= 0) {
                fail("io_submit");
            }
            done += more;
        }
        if (num_unused == depth) {
            break;
        }
        count = syscall(SYS_io_getevents, context, 1L, (long)MOST_DEPTH, event, NULL);
        for (long i = 0; i < count; i++) {
            if ((uint64_t)event[i].res != size) {
                errno = (int)-event[i].res;
                fail("a request");
            }
            unused[num_unused++] = (uint32_t)event[i].data;
        }
        if (count <= 0) {
            fail("io_getevents");
        }
    }
    syscall(SYS_io_destroy, context);
}

static void disk_work(uint64_t bytes, uint64_t size, uint32_t depth)
{
    int disk = open(DISK, O_RDWR | O_DIRECT);

    if (disk < 0) {
        fail(DISK);
    }
    move(disk, IOCB_CMD_PWRITE, bytes, size, depth);
    if (fsync(disk) != 0) {
        fail("fsync");
    }
    move(disk, IOCB_CMD_PREAD, bytes, size, depth);
}

int main(int argc, char **argv)
{
    uint64_t begin;

    if (argc == 3 && strcmp(argv[1], "echo") == 0) {
        uint64_t bytes = strtoull(argv[2], NULL, 10) << 20;
        begin = now_us();
        echo(bytes);
    } else if (argc == 5 && strcmp(argv[1], "disk") == 0) {
        uint64_t bytes = strtoull(argv[2], NULL, 10) << 20;
        uint64_t size = strtoull(argv[3], NULL, 10) << 10;
        uint64_t depth = strtoull(argv[4], NULL, 10);
        if (size == 0 || size > CHUNK || depth == 0 || depth > MOST_DEPTH || bytes % (size * NUM_STRIPE) != 0) {
            errno = EINVAL;
            fail("size or depth");
        }
        begin = now_us();
        disk_work(bytes, size, (uint32_t)depth);
    } else {
        errno = EINVAL;
        fail("arguments");
    }
    printf("DEVICE %s %llu us\n", argv[1], (unsigned long long)(now_us() - begin));
    return 0;
}
