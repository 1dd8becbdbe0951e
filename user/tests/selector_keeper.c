/* One of two processes of one CPU, each of which sets the selectors of its data segments to values of its own and looks whether
 * those of the other appear. Argument `value`: the selector. Prints `SELECTORS leaked` or `SELECTORS apart`. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define ROUNDS 200u
#define USER_DATA                                                                                                      \
    0x23u /* the one selector that a program may load; 0 to 3 are null selectors, which keep their number */

static uint32_t leaked;

static uint32_t read_all(void)
{
    uint64_t es, ds, fs, gs;
    __asm__ volatile("mov %%es, %0\n\tmov %%ds, %1\n\tmov %%fs, %2\n\tmov %%gs, %3"
                     : "=r"(es), "=r"(ds), "=r"(fs), "=r"(gs));
    return (uint32_t)(es | ds << 8 | fs << 16 | gs << 24);
}

static void write_all(uint64_t value)
{
    __asm__ volatile("mov %0, %%es\n\tmov %0, %%ds\n\tmov %0, %%fs\n\tmov %0, %%gs" ::"r"(value));
}

/* Whether one of them is the other process's. They may be a mixture of the own and of zeros, which the kernel leaves: the process
 * can lose the processor between any two instructions. */
static uint32_t is_foreign(uint32_t all, uint64_t own)
{
    uint32_t foreign = 0;

    for (; all != 0; all >>= 8) {
        foreign |= (all & 0xff) != 0 && (all & 0xff) != own;
    }
    return foreign;
}

int main(void)
{
    uint64_t own = env_arg_u64("value", USER_DATA);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        write_all(own);
        sys_sleep(sys_clock() + 100000);
        leaked += is_foreign(read_all(), own);
    }
    print("SELECTORS %s\n", leaked != 0 ? "leaked" : "apart");
    return 0;
}
