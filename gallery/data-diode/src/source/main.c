/* The protected side: writes a record every `period_ms` (default 20) into a page that it offers in share `low`. Before each
 * it compares the page with what it wrote last: any difference would be a way back. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "record.h"

#define PAGE_ADDRESS 0x10000000ul
#define REPORT_EVERY 50u

static volatile struct record_page *const page = (volatile struct record_page *)PAGE_ADDRESS;

/* Every byte of the page that is not the record must stay zero. */
static int page_is_as_written(const struct record *last, uint64_t sequence)
{
    const volatile uint64_t *word = (const volatile uint64_t *)PAGE_ADDRESS;
    uint64_t others = 0;
    struct record now;

    for (uint32_t i = sizeof(*page) / 8; i < PAGE_SIZE / 8; i++) {
        others |= word[i];
    }
    if (others != 0 || page->sequence != sequence) {
        return 0;
    }
    if (sequence == 0) {
        return 1;
    }
    int same = record_read(page, &now) && now.number == last->number;
    for (uint32_t i = 0; i < RECORD_WORDS; i++) {
        same &= now.word[i] == last->word[i];
    }
    return same;
}

int main(void)
{
    uint64_t period = env_arg_u64("period_ms", 20) * 1000000;
    uint64_t due = sys_clock() + period;
    uint64_t sequence = 0;
    struct record record = {0};
    uint32_t status = sys_mem_map(PAGE_ADDRESS, 1, PROT_READ | PROT_WRITE);

    if (status == STATUS_OK) {
        status = sys_share_offer(env_slot("share.low"), PAGE_ADDRESS);
    }
    if (status != STATUS_OK) {
        panic("offering the page: error %u\n", status);
    }
    for (;;) {
        sys_sleep(due);
        due += period;
        if (!page_is_as_written(&record, sequence)) {
            panic("the page was changed after record %lu\n", record.number);
        }
        record.number++;
        for (uint32_t i = 0; i < RECORD_WORDS; i++) {
            record.word[i] = record.number * (i + 1);
        }
        record_write(page, &sequence, &record);
        if (record.number % REPORT_EVERY == 0) {
            print("SOURCE %lu records written, none of them changed\n", record.number);
        }
    }
}
