/* The pace of a device's interrupts. */
#include "pci/pace.h"

void pace_raise(struct pace *pace, uint64_t now)
{
    if (pace->row == 0 || now - pace->opened > pace->served) {
        pace->row = 0;
        pace->since = now;
    }
    pace->raised = now;
}

uint64_t pace_serve(struct pace *pace, uint64_t now)
{
    pace->row++;
    pace->served = now - pace->raised;
    pace->opened = now;
    if (pace->row == PACE_ROW) {
        pace->row = 0;
        pace->opened = now + (now - pace->since);
    }
    return pace->opened;
}
