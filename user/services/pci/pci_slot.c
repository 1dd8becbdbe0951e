/* The bus's side of the pci protocol for one device whose configuration page, and no other's, this process holds: gives the
 * device its place in memory, switches registers and bus mastering on, and starts the driver, whatever that does then. If the
 * driver ends, the device is switched off and the driver started again.
 *
 * Arguments: `driver`, the driver's process; `bar` and `window`, which base address register to set and where; `line`, of the
 * interrupt; `after` (default 0): begin only when a signal has come. */
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "pci_protocol.h"

#define PORT PCI_NUMBER
#define CONFIGURATION 0x0000300000000000ul
#define CONFIG_ID 0x00u
#define CONFIG_COMMAND 0x04u
#define CONFIG_BAR 0x10u
#define COMMAND_MEMORY 0x2u
#define COMMAND_MASTER 0x4u
#define COMMAND_LINE_OFF 0x400u
#define RING_CAPACITY 64u
#define NAME_BYTES 32u

static char driver[NAME_BYTES];
static uint32_t child;
static uint32_t deaths;
static uint64_t cuts;

static volatile uint32_t *config(uint32_t offset)
{
    return (volatile uint32_t *)(CONFIGURATION + offset);
}

static void start_driver(void)
{
    *config(CONFIG_BAR + 4u * (uint32_t)env_arg_u64("bar", 0)) = (uint32_t)env_arg_u64("window", 0);
    *config(CONFIG_COMMAND) = COMMAND_MEMORY | COMMAND_MASTER;
    uint32_t status = sys_process_create(child);
    if (status == STATUS_OK) {
        status = sys_process_start(child, 0, 0, 0);
    }
    if (status != STATUS_OK) {
        panic("starting %s: error %u\n", driver, status);
    }
}

static void driver_ended(void)
{
    uint64_t state = 0;
    uint64_t cause = 0;

    *config(CONFIG_COMMAND) = COMMAND_LINE_OFF;
    sys_process_status(child, &state, &cause);
    if (state == PROCESS_EMPTY) {
        deaths++;
        print("SLOT %s has ended, cause 0x%lx; started again, number %u\n", driver, cause, deaths);
        start_driver();
    }
}

static void probe(void)
{
    uint32_t id = *config(CONFIG_ID);
    struct pci_probe body = {0, (uint16_t)id, (uint16_t)(id >> 16), 0, (uint8_t)env_arg_u64("line", 0), 0};

    memcpy(domain_emit_begin(AT(PORT, PCI_PROBE), 0), &body, sizeof body);
    domain_emit_end(AT(PORT, PCI_PROBE), 0);
}

int main(void)
{
    struct mail_set set = {{0}};

    if (env_arg("driver", driver, sizeof driver) < 0) {
        panic("argument driver is missing\n");
    }
    child = env_slot_of_kind("process");
    uint32_t status = sys_device_map(env_slot_of_kind("device"), CONFIGURATION, 0);
    if (status != STATUS_OK) {
        panic("mapping the configuration page: error %u\n", status);
    }
    print("SLOT device %08x\n", *config(CONFIG_ID));
    if (env_arg_u64("after", 0) != 0) {
        uint64_t bits = 0;
        char name[NAME_BYTES + 16] = "notification.";
        env_name(name + strlen(name), NAME_BYTES);
        sys_wait(env_slot(name), DEADLINE_NEVER, &bits);
    }
    domain_start();
    domain_connect(PORT, driver, &pci_protocol, RING_CAPACITY, 4);
    start_driver();
    set.mask[PORT] = ~0ul;
    set.mask[DOMAIN_EVENTS] = 1ul << child;
    for (;;) {
        uint32_t mailbox = domain_await(&set, DEADLINE_NEVER);
        if (mailbox == AT(DOMAIN_EVENTS, child)) {
            driver_ended();
        } else if (mailbox == AT(PORT, MAIL_LINK_UP)) {
            probe();
        } else if (mailbox == AT(PORT, MAIL_LINK_LOST)) {
            cuts++;
            if (cuts == 1) {
                print("SLOT the link to %s is lost\n", driver);
            }
        }
    }
}
