/* Where the trace lies. */
#ifndef ASHLAR_X86_64_TRACE_H
#define ASHLAR_X86_64_TRACE_H

#include <stdint.h>

/* The first frame of what abi.h describes as the trace, in consecutive frames; NONE if this kernel records none. */
uint32_t trace_first_frame(void);

#endif
