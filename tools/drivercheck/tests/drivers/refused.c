/* What the checker cannot follow; all of it is reported at once. */
#include "ashlar/driver.h"
#include "door_protocol.h"

static void (*handler)(void);

static void again(uint32_t count)
{
    if (count != 0u) {
        again(count - 1u);
    }
}

void driver(void)
{
    AWAIT(DOOR_KNOCK, DOOR_LEAVE);
    again(3);
    handler();
    EMIT(DOOR_KNOCK);
}
