/* The smallest program: says who it is and what it may use, and ends. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

int main(void)
{
    char name[32];
    uint64_t used = 0;
    uint64_t quota = 0;

    env_name(name, sizeof name);
    sys_quota(&used, &quota);
    print("HELLO from %s: %lu of %lu frames in use, %lu ns since boot\n", name, used, quota, sys_clock());
    return 0;
}
