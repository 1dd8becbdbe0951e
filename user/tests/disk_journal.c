/* A client of a disk that may be killed at any moment, as may the driver and what stands between. It writes generations of data in
 * turn to the two halves of its disk: first the data, which it flushes, then a header that names the generation, and flushes again.
 * Then the generation is acknowledged, which it tells a witness that is never killed, and reads all of it back. When it is started
 * anew, the header must name that generation or a later one, and all that the header names must be there. So before a generation is
 * begun the one before was read back, by this process or by one that was killed.
 *
 * Arguments: `bytes` of a generation (default 1M), `generations` to write before it says that it is done (default 8), `goes_on`, 1 to
 * write more of them then, so that each kill falls into work (default 0), `seed` of what is written, another one for each
 * client. */
#include "ashlar/disk.h"
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define MAGIC 0x6c616e72756f6aul /* "journal" */
#define PAGE 4096u
#define HEADER_BYTES PAGE /* before the halves */

struct header {
    uint64_t magic;
    uint64_t generation;
    uint64_t seed;
};

static uint8_t buffer[DISK_TRANSFER];
static uint64_t seed;
static uint64_t half_sectors;
static struct random moments;

static uint64_t word_of(uint64_t generation, uint64_t sector, uint32_t index)
{
    return (((seed << 40) + (generation << 20) + sector) * 512u + index) * 0x9e3779b97f4a7c15ul;
}

static uint64_t half_of(uint64_t generation)
{
    return HEADER_BYTES / disk_sector_size() + generation % 2 * half_sectors;
}

static void fill(uint64_t generation, uint64_t sector, uint32_t count)
{
    uint64_t *word = (uint64_t *)buffer;

    for (uint32_t i = 0; i < count * disk_sector_size() / 8; i++) {
        uint32_t per = disk_sector_size() / 8;
        word[i] = word_of(generation, sector + i / per, i % per);
    }
}

static void compare(uint64_t generation, uint64_t sector, uint32_t count)
{
    const uint64_t *word = (const uint64_t *)buffer;
    uint32_t per = disk_sector_size() / 8;

    for (uint32_t i = 0; i < count * per; i++) {
        if (word[i] != word_of(generation, sector + i / per, i % per)) {
            panic("JOURNAL LOST generation %lu: sector %lu of the half, word %u is %lx\n", generation, sector + i / per,
                  i % per, word[i]);
        }
    }
}

/* A number of sectors for one request. */
static uint32_t choose(uint64_t left)
{
    uint64_t count = 1 + (random_next(&moments) >> 32) % (DISK_TRANSFER / disk_sector_size());
    return (uint32_t)(count < left ? count : left);
}

static void must(int is_good, const char *what)
{
    if (!is_good) {
        panic("JOURNAL %s has failed\n", what);
    }
}

/* Tells the witness. Returns the newest generation that it knows of. */
static uint64_t witness(uint64_t generation)
{
    struct message message = {.count = 1, .word = {generation}};
    uint32_t status = message_call(env_slot("endpoint.witness"), &message);

    if (status != STATUS_OK) {
        panic("JOURNAL asking the witness: error %u\n", status);
    }
    return message.word[0];
}

static void verify(uint64_t generation)
{
    uint64_t sector = 0;

    while (sector < half_sectors) {
        uint32_t count = choose(half_sectors - sector);
        must(disk_read(half_of(generation) + sector, count, buffer), "a read");
        compare(generation, sector, count);
        sector += count;
    }
}

static void write(uint64_t generation)
{
    uint64_t sector = 0;

    while (sector < half_sectors) {
        uint32_t count = choose(half_sectors - sector);
        fill(generation, sector, count);
        must(disk_write(half_of(generation) + sector, count, buffer, count % 8 == 1), "a write");
        sector += count;
    }
    must(disk_flush(), "a flush");
}

static void name(uint64_t generation)
{
    struct header header = {MAGIC, generation, seed};

    memset(buffer, 0, disk_sector_size());
    memcpy(buffer, &header, sizeof header);
    must(disk_write(0, 1, buffer, 0), "a write");
    must(disk_flush(), "a flush");
}

/* The generation that the disk names, which is all there. */
static uint64_t recall(void)
{
    struct header header;
    uint64_t acknowledged = witness(0);

    must(disk_read(0, 1, buffer), "a read");
    memcpy(&header, buffer, sizeof header);
    uint64_t generation = header.magic == MAGIC ? header.generation : 0;
    if (generation < acknowledged || (generation != 0 && header.seed != seed)) {
        panic("JOURNAL LOST the header names generation %lu of %lu, acknowledged is %lu\n", generation, header.seed,
              acknowledged);
    }
    if (generation != 0) {
        verify(generation);
        print("JOURNAL has found generation %lu, acknowledged was %lu\n", generation, acknowledged);
    }
    return generation;
}

int main(void)
{
    uint64_t bytes = env_arg_u64("bytes", 1 << 20);
    uint64_t generations = env_arg_u64("generations", 8);

    seed = env_arg_u64("seed", 1);
    moments.state = sys_clock() | 1;
    disk_open();
    half_sectors = bytes / disk_sector_size();
    if (HEADER_BYTES / disk_sector_size() + 2 * half_sectors > disk_sectors()) {
        panic("JOURNAL %lu sectors are too few\n", disk_sectors());
    }
    uint64_t generation = recall();
    uint64_t goes_on = env_arg_u64("goes_on", 0);
    int is_done = 0;
    for (;;) {
        if (generation >= generations && !is_done) {
            print("JOURNAL done, %lu generations of %lu bytes, each read back\n", generations, bytes);
            is_done = 1;
        }
        if (is_done && !goes_on) {
            return 0;
        }
        generation++;
        write(generation);
        name(generation);
        witness(generation);
        verify(generation);
    }
}
