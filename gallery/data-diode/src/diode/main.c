/* The diode: the only process that has a share with each side. Every `period_ms` (default 5) it copies the source's record
 * into a page of its own, which it offers to the sink. Of what it has from the source it maps nothing for writing, and of
 * the page that the sink can reach it reads nothing: so there is no way back, whatever the sink does. This is the one
 * program that must be right. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "record.h"

#define IN_ADDRESS 0x10000000ul
#define OUT_ADDRESS 0x20000000ul

int main(void)
{
    const volatile struct record_page *in = (const volatile struct record_page *)IN_ADDRESS;
    volatile struct record_page *out = (volatile struct record_page *)OUT_ADDRESS;
    uint64_t period = env_arg_u64("period_ms", 5) * 1000000;
    uint64_t due = sys_clock() + period;
    uint64_t sequence = 0;
    uint64_t copied = 0;
    struct record record;
    uint32_t status = sys_mem_map(OUT_ADDRESS, 1, PROT_READ | PROT_WRITE);

    if (status == STATUS_OK) {
        status = sys_share_offer(env_slot("share.high"), OUT_ADDRESS);
    }
    if (status != STATUS_OK) {
        panic("offering the page: error %u\n", status);
    }
    do { /* until the source has offered its page */
        sys_sleep(due);
        due += period;
        status = sys_share_accept(env_slot("share.low"), IN_ADDRESS, PROT_READ);
    } while (status == ERR_WOULD_BLOCK);
    if (status != STATUS_OK) {
        panic("accepting the page: error %u\n", status);
    }
    print("DIODE works\n");
    for (;;) {
        /* By time alone: if it copied when the sink is ready, that would be a signal. */
        sys_sleep(due);
        due += period;
        if (record_read(in, &record) && record.number != copied) {
            record_write(out, &sequence, &record);
            copied = record.number;
        }
    }
}
