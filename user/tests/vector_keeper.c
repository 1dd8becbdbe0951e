/* Fills every vector register and the vector unit's control word with values of its own, gives the processor away, and
 * looks whether they are all still there: others on the same CPU do the same. Argument `seed` tells them apart. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define ROUNDS 3000u
#define NUM_REGISTERS 16u

static uint64_t mine[NUM_REGISTERS][2] __attribute__((aligned(16)));
static uint64_t seen[NUM_REGISTERS][2] __attribute__((aligned(16)));

#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define LOAD(i) __asm__ volatile("movaps %0, %%xmm" #i : : "m"(mine[i]));
#define STORE(i) __asm__ volatile("movaps %%xmm" #i ", %0" : "=m"(seen[i]));

int main(void)
{
    uint64_t seed = env_arg_u64("seed", 1);
    uint32_t control = 0x1f80 | (uint32_t)(seed & 3) << 13; /* rounding mode */

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t control_seen = 0;
        for (uint32_t i = 0; i < NUM_REGISTERS; i++) {
            mine[i][0] = seed << 32 | round;
            mine[i][1] = ~mine[i][0] + i;
        }
        __asm__ volatile("ldmxcsr %0" : : "m"(control));
        EACH(LOAD)
        if (round % 4 == 0) {
            sys_sleep(sys_clock() + 100000);
        } else {
            sys_yield();
        }
        EACH(STORE)
        __asm__ volatile("stmxcsr %0" : "=m"(control_seen));
        for (uint32_t i = 0; i < NUM_REGISTERS; i++) {
            if (seen[i][0] != mine[i][0] || seen[i][1] != mine[i][1] || control_seen != control) {
                print("VECTOR LOST register %u in round %u\n", i, round);
                return 1;
            }
        }
    }
    print("VECTOR kept over %u rounds\n", ROUNDS);
    return 0;
}
