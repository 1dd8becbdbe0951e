/* Starting threads. Stacks stand in an area of their own, below the files that the description maps (FILE_VADDR of
 * tools/system/src/layout.rs), one slice a thread; the unused rest of a slice stays unmapped, so that a stack that runs over faults. */
#include "ashlar/thread.h"

#include "ashlar/syscall.h"

#define STACK_AREA 0x0000480000000000ul
#define MAX_THREADS 256u
#define STACK_SLICE 0x100000ul

void thread_entry(uint64_t argument);

uint32_t thread_start(uint32_t index, thread_function function, uint64_t argument)
{
    if (index >= MAX_THREADS) {
        return ERR_BAD_ARGUMENT;
    }
    uint64_t top = STACK_AREA + (index + 1ul) * STACK_SLICE - 16 * PAGE_SIZE;
    uint32_t status = sys_mem_map(top - THREAD_STACK_PAGES * PAGE_SIZE, THREAD_STACK_PAGES, PROT_READ | PROT_WRITE);
    if (status != STATUS_OK && status != ERR_ALREADY_MAPPED) {
        return status;
    }
    /* thread_entry pops the function; the stack is 16-byte aligned after that. */
    uint64_t stack = top - 8;
    *(uint64_t *)stack = (uint64_t)function;
    return sys_thread_start(index, (uint64_t)thread_entry, stack, argument);
}
