/* Requests that fault_handler takes from the process whose faults it handles. */
#ifndef ASHLAR_FAULT_HANDLER_H
#define ASHLAR_FAULT_HANDLER_H

#define HANDLER_RESUME_AT 1ul
#define HANDLER_WHAT_HAPPENED 2ul

#endif
