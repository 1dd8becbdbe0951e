/* Takes numbers out of bounded buffer `items` and checks that nothing is lost, doubled or out of order.
 * Arguments: `items`, how many come from each producer (default 10000); `producers`, how many there are (default 1).
 * With several producers only the sum can be checked, since their items interleave. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

int main(void)
{
    uint32_t buffer = env_slot("buffer.items");
    uint64_t items = env_arg_u64("items", 10000);
    uint64_t producers = env_arg_u64("producers", 1);
    uint64_t sum = 0;

    for (uint64_t i = 1; i <= items * producers; i++) {
        uint64_t word = 0;
        uint32_t status = sys_buffer_remove(buffer, &word);
        if (status != STATUS_OK) {
            panic("removing item %lu: error %u\n", i, status);
        }
        if (producers == 1 && word != i) {
            panic("item %lu came as %lu\n", i, word);
        }
        sum += word;
    }
    if (sum != producers * (items * (items + 1) / 2)) {
        panic("the sum of the items is %lu\n", sum);
    }
    print("CONSUMER done: %lu items, none lost\n", items * producers);
    return 0;
}
