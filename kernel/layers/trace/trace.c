/* Events get their time here; their rings are memory of arch, because they are read from outside the kernel. */
#include "trace.h"

#include "arch.h"
#include "timer.h"

#if TRACE
void trace_event(uint32_t what, uint32_t detail)
{
    uint64_t now = timer_now();
    arch_trace(now, what, detail);
}
#endif
