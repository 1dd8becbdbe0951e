/* The program around a driver: its ports, its device's registers, and what it says at its end. */
#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "domain_internal.h"

/* Maps all pages of the register window. Touches nothing: the device may be off. */
static void map_registers(void)
{
    uint32_t slot = env_slot_of_kind("device");
    uint32_t status = slot == NO_SLOT ? ERR_BAD_ARGUMENT : STATUS_OK;

    for (uint64_t page = 0; status == STATUS_OK; page++) {
        status = sys_device_map(slot, REGISTERS_ADDRESS + page * PAGE_SIZE, page);
    }
    if (status != ERR_BAD_ARGUMENT) {
        panic("mapping the registers: error %u\n", status);
    }
}

int main(void)
{
    domain_start();
    for (uint32_t i = 0; driver_protocols[i] != 0; i++) {
        domain_serve(driver_protocols[i]);
    }
    map_registers();
    driver();
    monitored_return();
    domain_flush();
    return 0;
}
