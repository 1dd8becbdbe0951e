/* Events that are injected: the format is that of abi.h, with the error code in the upper half. */
#include "vmx/vmcs.h"
#include "vmx/vmx.h"

#define HAVE_ERROR_CODE 0x00027d00ul /* of exceptions: 8, 10 to 14, 17 */

uint64_t vmx_event_again(uint64_t info, uint64_t error_code)
{
    uint64_t type = (info >> EVENT_TYPE_SHIFT) & 7;
    uint64_t event = (info & 0xffffffff & EVENT_FIELDS);
    if (!(info & EVENT_VALID)) {
        return 0;
    }
    if (info & EVENT_HAS_ERROR_CODE) {
        event |= error_code << 32;
    }
    return type == EVENT_TYPE_EXTERNAL || type == EVENT_TYPE_NMI || type == EVENT_TYPE_EXCEPTION ? event : 0;
}

/* In protected mode an exception has an error code or has none, whatever the monitor says; in real mode it has none. */
uint64_t vmx_event_fit(uint64_t event, uint64_t cr0)
{
    uint64_t vector = event & 0xff;
    if (!(event & EVENT_VALID) || ((event >> EVENT_TYPE_SHIFT) & 7) != EVENT_TYPE_EXCEPTION) {
        return event & 0xffffffff & ~EVENT_HAS_ERROR_CODE;
    }
    uint64_t bare = event & 0xffffffff & ~EVENT_HAS_ERROR_CODE;
    if ((cr0 & CR0_PE) == 0 || vector >= 32 || (HAVE_ERROR_CODE >> vector & 1) == 0) {
        return bare;
    }
    uint64_t code = (event & EVENT_HAS_ERROR_CODE) ? event >> 32 & 0xffff : 0;
    return bare | EVENT_HAS_ERROR_CODE | code << 32;
}
