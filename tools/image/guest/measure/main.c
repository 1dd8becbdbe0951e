/* The guest's side of the benchmarks of drivers and of guests: `echo` and `disk` do what Ashlar's clients net_echo and disk_verify do,
 * by a Linux program through Linux's own drivers. Each measures by the guest's own clock and prints `DEVICE NAME US us`.
 *
 *   measure echo MIB [ADDRESS]    a stream of bytes to an echo service, the network's own unless another is named, which comes back
 *                                 and is checked
 *   measure serve                 becomes an echo service in the background, for one client after another
 *   measure disk MIB KIB DEPTH    the first MIB of the disk written, flushed and read, KIB at a time in four places that take
 *                                 turns, DEPTH requests under way, past the page cache
 *   measure write|read sequential|scattered MIB KIB DEPTH
 *                                 the same, only written and flushed, or only read, in order or each KIB far from the last */
#include "measure.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fail(const char *what)
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

/* Of the words MIB KIB DEPTH. */
static struct work read_work(char **word, enum order order)
{
    struct work work = {strtoull(word[0], NULL, 10) << 20, strtoull(word[1], NULL, 10) << 10,
                        (uint32_t)strtoul(word[2], NULL, 10), order};

    if (work.size == 0 || work.size > CHUNK || work.depth == 0 || work.depth > MOST_DEPTH ||
        work.bytes % (work.size * NUM_STRIPE) != 0 ||
        (order == SCATTERED && (work.bytes / work.size & (work.bytes / work.size - 1)) != 0)) {
        errno = EINVAL;
        fail("size or depth");
    }
    return work;
}

int main(int argc, char **argv)
{
    uint64_t begin = now_us();
    const char *what = argc > 1 ? argv[1] : "";
    int is_write = strcmp(what, "write") == 0;

    if (strcmp(what, "echo") == 0 && (argc == 3 || argc == 4)) {
        echo(strtoull(argv[2], NULL, 10) << 20, argc == 4 ? argv[3] : ECHO_ADDRESS);
    } else if (strcmp(what, "serve") == 0 && argc == 2) {
        serve();
    } else if (strcmp(what, "disk") == 0 && argc == 5) {
        struct work work = read_work(argv + 2, IN_STRIPES);
        disk_work(&work, 1, 1);
    } else if ((is_write || strcmp(what, "read") == 0) && argc == 6) {
        struct work work = read_work(argv + 3, strcmp(argv[2], "scattered") == 0 ? SCATTERED : SEQUENTIAL);
        disk_work(&work, is_write, !is_write);
    } else {
        errno = EINVAL;
        fail("arguments");
    }
    printf("DEVICE %s %llu us\n", what, (unsigned long long)(now_us() - begin));
    return 0;
}
