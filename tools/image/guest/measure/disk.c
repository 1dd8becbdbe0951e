/* Requests to the disk, past the page cache. */
#define _GNU_SOURCE
#include "measure.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Multiplied by it, the numbers below a power of two are all there again, neighbours far from each other. */
#define SCATTER 2654435761u

/* Places of the disk that were not asked for yet. */
struct stripe {
    uint64_t next;
    uint64_t end;
};

/* The next request's place, in one of the stripes that are left, or -1. */
static int64_t choose(struct stripe *stripe, uint32_t num_stripe, uint64_t size)
{
    uint32_t first = (uint32_t)random();

    for (uint32_t i = 0; i < num_stripe; i++) {
        struct stripe *from = &stripe[(first + i) % num_stripe];
        if (from->next != from->end) {
            from->next += size;
            return (int64_t)(from->next - size);
        }
    }
    return -1;
}

/* Does the work, as reads or writes. */
static void move(int disk, uint16_t opcode, const struct work *work)
{
    static uint8_t buffer[MOST_DEPTH][CHUNK] __attribute__((aligned(4096)));
    static struct iocb control[MOST_DEPTH];
    struct stripe stripe[NUM_STRIPE];
    uint32_t unused[MOST_DEPTH];
    uint32_t num_unused = work->depth;
    uint32_t num_stripe = work->order == IN_STRIPES ? NUM_STRIPE : 1;
    uint64_t requests = work->bytes / work->size;
    aio_context_t context = 0;

    for (uint32_t i = 0; i < num_stripe; i++) {
        stripe[i] = (struct stripe){work->bytes / num_stripe * i, work->bytes / num_stripe * (i + 1)};
    }
    for (uint32_t i = 0; i < work->depth; i++) {
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
            int64_t place = choose(stripe, num_stripe, work->size);
            if (place < 0) {
                break;
            }
            if (work->order == SCATTERED) {
                place = (int64_t)((uint64_t)place / work->size * SCATTER % requests * work->size);
            }
            uint32_t slot = unused[--num_unused];
            control[slot] = (struct iocb){.aio_lio_opcode = opcode, .aio_fildes = (uint32_t)disk, .aio_data = slot,
                                          .aio_buf = (uint64_t)buffer[slot], .aio_nbytes = work->size, .aio_offset = place};
            list[count++] = &control[slot];
        }
        for (long done = 0; done < count;) {
            long more = syscall(SYS_io_submit, context, count - done, list + done);
            if (more <= 0) {
                fail("io_submit");
            }
            done += more;
        }
        if (num_unused == work->depth) {
            break;
        }
        count = syscall(SYS_io_getevents, context, 1L, (long)MOST_DEPTH, event, NULL);
        for (long i = 0; i < count; i++) {
            if ((uint64_t)event[i].res != work->size) {
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

void disk_work(const struct work *work, int is_written, int is_read)
{
    const char *name = access("/dev/vda", F_OK) == 0 ? "/dev/vda" : "/dev/sda";
    int disk = open(name, O_RDWR | O_DIRECT);

    if (disk < 0) {
        fail(name);
    }
    if (is_written) {
        move(disk, IOCB_CMD_PWRITE, work);
        if (fsync(disk) != 0) {
            fail("fsync");
        }
    }
    if (is_read) {
        move(disk, IOCB_CMD_PREAD, work);
    }
}
