/* The kernel's trace, for a process with `trace = true` in the description: what happens on each CPU and when. Kinds and details
 * of events are TRACE_SWITCH and its neighbours of abi.h. Nothing stops while it is read: who reads too slowly loses the oldest
 * events, and is told how many. */
#ifndef ASHLAR_TRACE_READ_H
#define ASHLAR_TRACE_READ_H

#include <stddef.h>
#include <stdint.h>

struct trace_event {
    uint64_t when; /* nanoseconds since boot */
    uint32_t what; /* TRACE_* */
    uint32_t detail;
};

/* One CPU's ring, and how far this reader is. Several readers do not disturb each other. */
struct trace_reader {
    const volatile uint64_t *count;
    const volatile struct trace_event *ring;
    uint64_t next; /* the number of the next event: so many of this CPU were read or lost */
    uint64_t lost; /* events that were overwritten before they were read */
};

/* CPUs whose trace this process may read: those of the description; 0 if it grants none. */
uint32_t trace_cpus(void);

/* Begins to read the ring of `cpu` with the oldest event that it holds; earlier ones do not count as lost. 0 if this process may
 * not read it, else 1. */
int trace_open(struct trace_reader *reader, uint32_t cpu);

/* The same of a trace anywhere in memory, as abi.h describes it. */
void trace_open_at(struct trace_reader *reader, const void *trace, uint32_t cpu);

/* The next event of the CPU, in the order in which it recorded them. 0 if there is none yet, else 1. */
int trace_next(struct trace_reader *reader, struct trace_event *event);

/* The name of a thread in the description, PROCESS or PROCESS.THREAD, NUL-terminated and cut to `size`. 0 if it has none, as the
 * idle threads, else 1. */
int trace_thread_name(uint32_t thread, char *buffer, size_t size);

#endif
