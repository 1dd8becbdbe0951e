/* A driver that says it is open before anyone has asked: the run-time monitor of debug builds ends it. */
#include "ashlar/driver.h"
#include "ethernet_protocol.h"

void driver(void)
{
    struct ethernet_open_ok open_ok = {{0}, 0};

    EMIT(ETHERNET_OPEN_OK, 0, &open_ok);
    AWAIT(ETHERNET_OPEN);
}

const struct protocol *const driver_protocols[] = {&ethernet_protocol, 0};
