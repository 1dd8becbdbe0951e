/* Puts the numbers 1, 2, 3 ... into bounded buffer `items`. Argument `items`: how many (default 10000). */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

int main(void)
{
    uint32_t buffer = env_slot("buffer.items");
    uint64_t items = env_arg_u64("items", 10000);

    for (uint64_t i = 1; i <= items; i++) {
        uint32_t status = sys_buffer_insert(buffer, i);
        if (status != STATUS_OK) {
            panic("inserting item %lu: error %u\n", i, status);
        }
    }
    print("PRODUCER done: %lu items\n", items);
    return 0;
}
