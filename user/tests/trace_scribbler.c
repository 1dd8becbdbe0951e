/* Does with the trace that it may read what it may not: offers its pages, maps over it, lets a device have it; each must be
 * refused. At last it writes to it, which must be its end. Argument `away`: it has no trace, and reads where others have theirs. */
#include "abi.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define OTHERS_TRACE 0x580000000000ul

static void expect(const char *what, uint32_t status, uint32_t expected)
{
    if (status != expected) {
        panic("SCRIBBLER FAILED: %s: status %u instead of %u\n", what, status, expected);
    }
}

int main(void)
{
    const void *trace = 0;
    uint64_t bytes = 0;
    uint64_t address = 0;

    if (env_arg_u64("away", 0) != 0) {
        print("SCRIBBLER reads, but has no trace\n");
        return (int)*(const volatile uint64_t *)OTHERS_TRACE;
    }
    if (env_trace(&trace, &bytes) == 0) {
        panic("SCRIBBLER FAILED: no trace\n");
    }
    uint64_t last = (uint64_t)trace + bytes - 4096;
    expect("to offer the counts", sys_share_offer(env_slot("share.out"), (uint64_t)trace), ERR_BAD_ADDRESS);
    expect("to offer a ring", sys_share_offer(env_slot("share.out"), last), ERR_BAD_ADDRESS);
    expect("to map over it", sys_mem_map((uint64_t)trace, 1, PROT_READ | PROT_WRITE), ERR_ALREADY_MAPPED);
    expect("to let a device have it", sys_dma_address(env_slot("dma.memory"), last, DMA_PHYSICAL, &address),
           ERR_BAD_ADDRESS);
    print("SCRIBBLER was refused, and writes\n");
    *(volatile uint64_t *)last = 1;
    print("SCRIBBLER FAILED: it wrote\n");
    return 0;
}
