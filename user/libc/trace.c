/* Where this process finds the trace and the names of threads. */
#include "ashlar/trace.h"

#include "abi.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"

_Static_assert(sizeof(struct trace_event) == TRACE_EVENT_BYTES, "as abi.h says");

uint32_t trace_cpus(void)
{
    const void *trace = 0;
    uint64_t bytes = 0;

    return env_trace(&trace, &bytes) == 0 ? 0 : (uint32_t)((bytes - TRACE_RINGS) / TRACE_RING_BYTES);
}

int trace_open(struct trace_reader *reader, uint32_t cpu)
{
    const void *trace = 0;
    uint64_t bytes = 0;

    if (env_trace(&trace, &bytes) == 0 || cpu >= trace_cpus()) {
        return 0;
    }
    trace_open_at(reader, trace, cpu);
    return 1;
}

int trace_thread_name(uint32_t thread, char *buffer, size_t size)
{
    char key[32];
    size_t length = 0;

    format(key, sizeof key, "%u", thread);
    const char *name = env_text_find((const char *)ENV_VADDR, "trace.thread.", key, &length);
    if (name == 0 || size == 0) {
        return 0;
    }
    if (length >= size) {
        length = size - 1;
    }
    memcpy(buffer, name, length);
    buffer[length] = 0;
    return 1;
}
