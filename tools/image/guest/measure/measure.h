/* A program that measures devices of the guest that it runs in (main.c): a stream, and the disk. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>

#define ECHO_ADDRESS "10.0.2.100"
/* Bytes that are sent, received, written or read at once, at most. */
#define CHUNK 65536u
/* Requests to the disk that are under way, at most. */
#define MOST_DEPTH 32u
/* Places of the disk that take turns. */
#define NUM_STRIPE 4u

/* In which order the requests go over the disk. */
enum order { IN_STRIPES, SEQUENTIAL, SCATTERED };

/* What is done to the disk: `bytes` from its begin, in requests of `size`, up to `depth` of them under way. */
struct work {
    uint64_t bytes;
    uint64_t size;
    uint32_t depth;
    enum order order;
};

/* Says on which part the measurement has failed, and why, and ends. */
_Noreturn void fail(const char *what);

/* Sends bytes to the echo service at an address, and checks what comes back. */
void echo(uint64_t bytes, const char *address);

/* Becomes an echo service in the background, which answers from now on. Does not return. */
void serve(void);

/* Writes to the first disk and flushes, or reads, or one after the other. */
void disk_work(const struct work *work, int is_written, int is_read);

#endif
