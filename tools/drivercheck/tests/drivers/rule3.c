/* Waits for a knock alone, and then is never told that nobody will come. */
#include "ashlar/driver.h"
#include "door_protocol.h"

void driver(void)
{
    AWAIT(DOOR_KNOCK);
    EMIT(DOOR_ANSWER);
}
