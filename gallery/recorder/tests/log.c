/* The log finds its newest block, also after it has begun to overwrite the oldest, and sees what is missing, torn or elsewhere. */
#include "../src/recorder/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 16u
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static struct log_block disk[PLACES];

static void append(uint64_t number)
{
    struct log_block block = {0};

    for (uint32_t i = 0; i < LOG_READINGS; i++) {
        block.reading[i] = number * LOG_READINGS + i;
    }
    log_seal(&block, number);
    disk[log_place(number, PLACES)] = block;
}

static struct log_scan look(void)
{
    struct log_scan scan = {.places = PLACES};

    for (uint32_t i = 0; i < PLACES; i++) {
        log_look(&scan, (i + 5) % PLACES, &disk[(i + 5) % PLACES]);
    }
    return scan;
}

int main(void)
{
    struct log_scan scan = look();

    EXPECT(scan.newest == 0 && scan.blocks == 0 && log_missing(&scan) == 0);
    for (uint64_t number = 1; number <= 3 * PLACES; number++) {
        append(number);
        scan = look();
        EXPECT(scan.newest == number && log_missing(&scan) == 0);
        EXPECT(scan.blocks == (number < PLACES ? number : PLACES));
        EXPECT(scan.reading == number * LOG_READINGS + LOG_READINGS - 1);
    }
    /* A block of which only a part was written. */
    disk[3].reading[7]++;
    scan = look();
    EXPECT(scan.newest == 3 * PLACES && log_missing(&scan) == 1);
    /* The newest one is gone: the one before it is the newest. */
    memset(&disk[0], 0, sizeof disk[0]);
    scan = look();
    EXPECT(scan.newest == 3 * PLACES - 1 && log_missing(&scan) == 2);
    /* A block that stands where it does not belong. */
    disk[0] = disk[1];
    scan = look();
    EXPECT(log_missing(&scan) == 2);
    return 0;
}
