/* The side that only receives: reads the diode's page every `period_ms` (default 5), checks each record and says how many it
 * has seen. What it does after `records` of them (default 50) is its argument `then`:
 *
 *   nothing  it goes on
 *   write    it writes to the page that it has for reading, which must fault
 *   hostile  (from the beginning) it maps the page for writing and fills all of it, again and again */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "record.h"

#define PAGE_ADDRESS 0x20000000ul
#define REPORT_EVERY 50u

static const volatile struct record_page *const page = (const volatile struct record_page *)PAGE_ADDRESS;

static void accept(uint32_t protection)
{
    uint32_t status;

    do { /* until the diode has offered its page */
        sys_sleep(sys_clock() + 1000000);
        status = sys_share_accept(env_slot("share.high"), PAGE_ADDRESS, protection);
    } while (status == ERR_WOULD_BLOCK);
    if (status != STATUS_OK) {
        panic("accepting the page: error %u\n", status);
    }
}

static void fill(uint64_t round)
{
    for (uint32_t i = 0; i < PAGE_SIZE / 8; i++) {
        ((volatile uint64_t *)PAGE_ADDRESS)[i] = round << 32 | i;
    }
}

static void be_hostile(uint64_t period)
{
    accept(PROT_READ | PROT_WRITE);
    for (uint64_t round = 1;; round++) {
        fill(round);
        if (round % REPORT_EVERY == 0) {
            print("SINK has filled its page %lu times\n", round);
        }
        sys_sleep(sys_clock() + period);
    }
}

static void check(const struct record *record)
{
    for (uint32_t i = 0; i < RECORD_WORDS; i++) {
        if (record->word[i] != record->number * (i + 1)) {
            panic("record %lu: word %u is %lu\n", record->number, i, record->word[i]);
        }
    }
}

int main(void)
{
    uint64_t period = env_arg_u64("period_ms", 5) * 1000000;
    uint64_t records = env_arg_u64("records", 50);
    uint64_t seen = 0, last = 0;
    struct record record;
    char then[16] = "nothing";

    env_arg("then", then, sizeof(then));
    if (strcmp(then, "hostile") == 0) {
        be_hostile(period);
    }
    accept(PROT_READ);
    for (;;) {
        sys_sleep(sys_clock() + period);
        if (!record_read(page, &record) || record.number == last) {
            continue;
        }
        if (record.number < last) {
            panic("record %lu comes after record %lu\n", record.number, last);
        }
        check(&record);
        last = record.number;
        if (++seen % REPORT_EVERY == 0) {
            print("SINK %lu records received whole\n", seen);
        }
        if (seen == records && strcmp(then, "write") == 0) {
            print("SINK writes to the page\n");
            *(volatile uint64_t *)PAGE_ADDRESS = 1;
            print("SINK has written to the page\n");
        }
    }
}
