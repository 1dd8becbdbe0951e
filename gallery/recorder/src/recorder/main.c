/* Takes readings from the buffer and appends them to the log, a block at a time. Each block is forced to the medium before the next
 * one is begun, so what the console says is recorded is there after any end of this process, of the block service, of the
 * driver, and of the machine. At its start it reads the whole log back. */
#include "ashlar/disk.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "log.h"

#define BLOCKS_A_LINE 10u

static uint8_t sectors[DISK_TRANSFER];
static struct log_scan scan;

static void read_back(void)
{
    uint32_t bytes = disk_sector_size();
    uint32_t at_once = DISK_TRANSFER / bytes;

    scan.places = disk_sectors();
    for (uint64_t place = 0; place < scan.places; place += at_once) {
        uint64_t left = scan.places - place;
        uint32_t count = left < at_once ? (uint32_t)left : at_once;
        if (!disk_read(place, count, sectors)) {
            print("RECORDER %u sectors from %lu on cannot be read\n", count, place);
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            struct log_block block;
            memcpy(&block, sectors + i * bytes, sizeof block);
            log_look(&scan, place + i, &block);
        }
    }
    print("RECORDER has found %lu readings, %lu blocks are missing, the newest has number %lu\n",
          scan.blocks * LOG_READINGS, log_missing(&scan), scan.reading >> 32);
}

static void take_readings(uint32_t buffer, struct log_block *block)
{
    for (uint32_t i = 0; i < LOG_READINGS; i++) {
        uint32_t status = sys_buffer_remove(buffer, &block->reading[i]);
        if (status != STATUS_OK) {
            panic("RECORDER taking a reading: error %u\n", status);
        }
    }
}

int main(void)
{
    uint32_t buffer = env_slot("buffer.readings");

    disk_open();
    read_back();
    for (uint64_t number = scan.newest + 1;; number++) {
        struct log_block block;
        take_readings(buffer, &block);
        log_seal(&block, number);
        memset(sectors, 0, disk_sector_size());
        memcpy(sectors, &block, sizeof block);
        if (!disk_write(log_place(number, scan.places), 1, sectors, 1)) {
            panic("RECORDER block %lu cannot be written\n", number);
        }
        if (number % BLOCKS_A_LINE == 0) {
            print("RECORDER %lu readings are on the disk\n", number * LOG_READINGS);
        }
    }
}
