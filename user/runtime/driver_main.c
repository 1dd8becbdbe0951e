/* The program around a driver: the ports of its links, its device's registers, and what it says at its end. */
#include "ashlar/clients.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "clients_serve.h"
#include "domain_internal.h"
#include "driver_ports.h"

#define NAME_BYTES 72u
#define CLIENT_CAPACITY 256u /* of the rings of a link to a driver */
#define CLIENT_PAGES 16u

/* Maps all pages of the register window. Touches nothing: the device may be off. One with I/O ports alone has none (ERR_BAD_SLOT). */
static void map_registers(void)
{
    uint32_t slot = env_slot_of_kind("device");
    uint32_t status = slot == NO_SLOT ? ERR_BAD_ARGUMENT : STATUS_OK;

    for (uint64_t page = 0; status == STATUS_OK; page++) {
        status = sys_device_map(slot, REGISTERS_ADDRESS + page * PAGE_SIZE, page);
    }
    if (status != ERR_BAD_ARGUMENT && status != ERR_BAD_SLOT) {
        panic("mapping the registers: error %u\n", status);
    }
}

/* Most drivers have no such table: they are no clients; and one client of each protocol. */
extern const struct protocol *const client_protocols[] __attribute__((weak));
extern const struct driver_clients driver_clients __attribute__((weak));
void clients_serve(const struct protocol *protocol) __attribute__((weak));

/* It serves several. */
static uint32_t has_clients(const struct protocol *protocol)
{
    return &driver_clients != 0 && clients_serve != 0 && driver_clients.protocol == protocol->first_mailbox >> 8;
}

static void serve(const struct protocol *protocol)
{
    if (has_clients(protocol)) {
        clients_serve(protocol);
    } else {
        domain_serve(protocol);
    }
}

static void connect(const struct protocol *protocol)
{
    char driver_name[NAME_BYTES];
    char pages[NAME_BYTES];

    if (has_clients(protocol)) {
        if (env_arg("uplink", driver_name, sizeof driver_name) >= 0 ||
            env_arg("disk", driver_name, sizeof driver_name) >= 0) {
            domain_connect(protocol->first_mailbox >> 8, driver_name, protocol, CLIENT_CAPACITY, driver_clients.pages);
        }
        return;
    }
    if (env_arg(protocol->name, driver_name, sizeof driver_name) < 0) {
        panic("argument %s, the name of the driver of that protocol, is missing\n", protocol->name);
    }
    format(pages, sizeof pages, "%s_pages", protocol->name);
    domain_connect(protocol->first_mailbox >> 8, driver_name, protocol, CLIENT_CAPACITY,
                   (uint32_t)env_arg_u64(pages, CLIENT_PAGES));
}

uint64_t driver_number(const char *name, uint64_t fallback)
{
    return env_arg_u64(name, fallback);
}

int main(void)
{
    domain_start();
    for (uint32_t i = 0; driver_protocols[i] != 0; i++) {
        serve(driver_protocols[i]);
    }
    for (uint32_t i = 0; client_protocols != 0 && client_protocols[i] != 0; i++) {
        connect(client_protocols[i]);
    }
    map_registers();
    ports_start();
    driver();
    domain_end();
    return 0;
}
