/* Waits for a knock alone, though the client may leave instead. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    AWAIT(DOOR_KNOCK);
    EMIT(DOOR_ANSWER);
}
