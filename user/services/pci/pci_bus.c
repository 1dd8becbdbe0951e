/* The bus's side of the pci protocol for one device: finds the device, gives it its place in memory, starts the driver, and
 * does for it what only the bus may: registers and bus mastering on and off. If the driver ends, the device is stopped, so
 * that it reaches no memory any more, and the driver is started again: each time, or as its `restart` in the description says.
 *
 * It has the ports of all devices' configuration, `pci_config`, or the configuration page of this one device; several buses, a
 * page each, do not get in each other's way.
 *
 * Arguments: `driver`, the driver's process; `vendor`, `device`, what to look for, from bus `first_bus` on (default 0), or with a
 * page `address`, which device it is of (bus << 8 | device << 3 | function, default 0); `bar`
 * and `window`, which base address register to set and where; `line`, of the interrupt; `messages`, 0 to keep the line of a device
 * that could interrupt by messages; `message_table`, the device of the description that is the page of its table of messages, in the
 * base address register `message_bar` (default `bar`), whose own place is then `message_window`, from `message_offset` there on
 * (default 0); `reset`, 1 to reset the device before a driver gets it; `dma_pages` for the driver's descriptors (default 4);
 * `kills`, how often to end the driver
 * (default 0): `kill_after_us` after it has taken the device and a random time of up to `kill_random_us` more (by `seed`, default
 * the clock), or, with `kill_step_us`, its n-th life n such steps after its beginning, so
 * that it dies wherever it can. A console takes commands: probe, remove, suspend, resume, error, unplug, kill. Where the
 * device is in a slot that it can be taken out of, it is taken out when the slot's button is pressed, and probed when it is
 * there again. */
#include "pci_hotplug.h"
#include "pci_message.h"
#include "pci_reset.h"
#include "supervisor/restart_policy.h"

#include "ashlar/console_line.h"
#include "ashlar/domain.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "pci_protocol.h"

#define PORT PCI_NUMBER
#define RING_CAPACITY 64u
#define NAME_BYTES 32u
#define SLOT_INTERVAL 10000000ul /* ns between looks at the slot */

static char driver[NAME_BYTES];
static uint32_t child; /* slots */
static uint32_t console;
static uint32_t message_slot; /* of the message by which the device may interrupt */
static uint32_t sends_messages;
static uint32_t address; /* bus, device and function of the device */
static uint32_t deaths;
static struct restart_policy policy;
static uint32_t has_policy; /* the description has one: without it the driver is started again each time */
static uint64_t kills;      /* still to be made */
static uint64_t kill_at = DEADLINE_NEVER;
static uint64_t kill_step; /* ns */
static struct random moments;
static struct slot slot; /* that the device is in */
static uint64_t look_at = DEADLINE_NEVER;
static uint32_t is_bound;   /* the driver was given a device, and has not released it yet */
static uint32_t must_probe; /* a device is there that the driver was not given */

/* Writes the command register and leaves the status beside it alone. */
static void command(uint32_t bits)
{
    config_write(address, CONFIG_COMMAND, bits);
}

static int find_device(uint32_t id)
{
    if (config_has_page) {
        address = config_owned;
        return config_read(address, CONFIG_ID) == id;
    }
    for (uint32_t where = 256u * (uint32_t)env_arg_u64("first_bus", 0); where < CONFIG_NUM_BUS * 256u; where++) {
        if (config_read(where, CONFIG_ID) == id) {
            address = where;
            return 1;
        }
    }
    return 0;
}

/* A register of 64 bits has its upper half in the next one. */
static void set_bar(uint32_t number, uint32_t window)
{
    uint32_t bar = CONFIG_BAR + 4u * number;
    uint32_t is_long = (config_read(address, bar) & BAR_KIND) == BAR_LONG;

    config_write(address, bar, window);
    if (is_long) {
        config_write(address, bar + 4u, 0);
    }
}

static void read_policy(void)
{
    size_t length = 0;
    const char *value = env_text_find((const char *)ENV_VADDR, "restart.", driver, &length);

    has_policy = value != 0;
    if (has_policy && !restart_parse(&policy, value, length)) {
        print("BUS the restart policy of %s is not understood; it is never started again\n", driver);
    }
}

/* The table of messages has a place of its own where another register names it. */
static void set_window(void)
{
    uint32_t bar = (uint32_t)env_arg_u64("bar", 0);
    uint32_t window = (uint32_t)env_arg_u64("window", 0);
    uint32_t message_bar = (uint32_t)env_arg_u64("message_bar", bar);

    if (slot.express != 0) {
        slot_open(&slot, window);
    }
    command(COMMAND_LINE_OFF);
    set_bar(bar, window);
    if (message_bar != bar) {
        set_bar(message_bar, (uint32_t)env_arg_u64("message_window", 0));
    }
}

static void use_message_table(void)
{
    char name[NAME_BYTES];
    char key[NAME_BYTES + 8];

    if (env_arg("message_table", name, sizeof name) < 0) {
        return;
    }
    format(key, sizeof key, "device.%s", name);
    if (env_slot(key) == NO_SLOT) {
        panic("the description gives this process no %s\n", key);
    }
    message_use_table(address, env_slot(key), (uint32_t)env_arg_u64("message_bar", env_arg_u64("bar", 0)),
                      (uint32_t)env_arg_u64("message_offset", 0));
}

static void start_driver(void)
{
    if (child == NO_SLOT) {
        return;
    }
    uint32_t status = sys_process_create(child);
    if (status == STATUS_OK) {
        status = sys_process_start(child, 0, 0, 0);
    }
    if (status != STATUS_OK) {
        panic("starting %s: error %u\n", driver, status);
    }
    if (kills != 0 && kill_step != 0) {
        kill_at = sys_clock() + deaths * kill_step;
    }
}

/* The next kill while the driver works: at a moment that nothing in the driver's work agrees with. */
static void plan_kill(void)
{
    uint64_t most = env_arg_u64("kill_random_us", 0);
    uint64_t more = most != 0 ? (random_next(&moments) >> 16) % most : 0;

    if (kills != 0 && kill_step == 0) {
        kill_at = sys_clock() + 1000 * (env_arg_u64("kill_after_us", 20000) + more);
    }
}

static void emit(uint32_t mailbox)
{
    domain_emit_begin(AT(PORT, mailbox), 0);
    domain_emit_end(AT(PORT, mailbox), 0);
}

/* What the device has under way for one that had it before ends. It forgets its window, too. */
static void reset_device(void)
{
    if (env_arg_u64("reset", 0) != 0 && !function_reset(address)) {
        print("BUS the device cannot be reset: it may still have something under way\n");
    }
}

static void probe(void)
{
    uint32_t id = config_read(address, CONFIG_ID);
    uint32_t kind = config_read(address, CONFIG_REVISION);
    struct pci_probe body = {
        (uint16_t)address, (uint16_t)id, (uint16_t)(id >> 16), (uint8_t)kind, (uint8_t)env_arg_u64("line", 0),
        kind >> 8};

    reset_device();
    set_window();
    memcpy(domain_emit_begin(AT(PORT, PCI_PROBE), 0), &body, sizeof body);
    domain_emit_end(AT(PORT, PCI_PROBE), 0);
    is_bound = 1;
}

/* A device that was reset or put in has forgotten the message. */
static void enable(void)
{
    uint32_t sends = message_set_up(address, message_slot);

    if (sends != sends_messages) {
        const char *how = sends == 0 ? "those of its line" : message_table != 0 ? "messages of its table" : "messages";
        print("BUS its interrupts are %s\n", how);
    }
    sends_messages = sends;
    command(COMMAND_MEMORY | COMMAND_MASTER);
    emit(PCI_ENABLED);
}

/* The driver has ended: the device must not reach its memory any more once the frames can belong to another process. */
static void driver_ended(void)
{
    uint64_t state = 0;
    uint64_t cause = 0;

    command(COMMAND_LINE_OFF);
    sys_process_status(child, &state, &cause);
    if (state != PROCESS_EMPTY) {
        return;
    }
    if (has_policy && restart_decide(&policy, cause, sys_clock()) != RESTART_NOW) {
        print("BUS %s has ended, cause 0x%lx, and stays so\n", driver, cause);
        return;
    }
    deaths++;
    print("BUS %s has ended, cause 0x%lx; started again, number %u\n", driver, cause, deaths);
    start_driver();
}

/* ---- the slot ---- */

static void probe_if_there(void)
{
    if (slot.express == 0 || slot.is_full) {
        must_probe = 0;
        probe();
    }
}

/* The device loses its power first, in the middle of whatever it does; then the driver gets the message. */
static void look_at_slot(void)
{
    enum slot_event event = slot_look(&slot);

    if (event == SLOT_TAKEN) {
        print("BUS the device is out of its slot: %s\n",
              config_read(address, CONFIG_ID) == CONFIG_NOTHING ? "nothing is there" : "but it answers");
        if (is_bound) {
            emit(PCI_UNPLUG);
        }
    } else if (event == SLOT_FILLED) {
        print("BUS a device is in the slot, %08x\n", config_read(address, CONFIG_ID));
        must_probe = 1;
        if (!is_bound) {
            probe_if_there();
        }
    }
    look_at = sys_clock() + SLOT_INTERVAL;
}

/* ---- the console ---- */

static void obey(const char *line)
{
    static const struct {
        const char *name;
        uint32_t mailbox;
    } request[] = {{"remove", PCI_REMOVE}, {"suspend", PCI_SUSPEND}, {"resume", PCI_RESUME}, {"error", PCI_BUS_ERROR}};

    if (strcmp(line, "probe") == 0) {
        probe();
        return;
    }
    if (strcmp(line, "unplug") == 0) {
        command(
            COMMAND_LINE_OFF); /* the device answers to nothing, as if it were gone; then the driver gets the message */
        emit(PCI_UNPLUG);
        return;
    }
    if (strcmp(line, "kill") == 0 && child != NO_SLOT) {
        sys_process_kill(child);
        return;
    }
    for (uint32_t i = 0; i < sizeof request / sizeof request[0]; i++) {
        if (strcmp(line, request[i].name) == 0) {
            if (request[i].mailbox == PCI_RESUME) {
                set_window(); /* the device has forgotten it */
            }
            emit(request[i].mailbox);
            return;
        }
    }
    print("not understood: %s; say probe, remove, suspend, resume, error, unplug or kill\n", line);
}

/* ---- messages ---- */

static void receive(uint32_t mailbox)
{
    uint32_t message = mailbox & 0xffu;

    switch (message) {
    case MAIL_LINK_UP:
        probe_if_there();
        break;
    case MAIL_LINK_LOST:
        command(COMMAND_LINE_OFF);
        is_bound = 0;
        print("BUS the link to %s is lost\n", driver);
        break;
    case PCI_ENABLE & 0xffu:
        enable();
        break;
    case PCI_DISABLE & 0xffu:
        command(COMMAND_LINE_OFF);
        break;
    case PCI_PROBE_OK & 0xffu:
        plan_kill();
        print("BUS %s: probe_ok\n", driver);
        break;
    case PCI_PROBE_FAIL & 0xffu:
    case PCI_REMOVE_OK & 0xffu:
    case PCI_UNPLUG_OK & 0xffu:
        print("BUS %s: %s\n", driver, pci_protocol.messages[message].name);
        is_bound = 0;
        if (must_probe) {
            probe_if_there();
        }
        break;
    default:
        print("BUS %s: %s\n", driver, pci_protocol.messages[message].name);
        break;
    }
}

int main(void)
{
    struct mail_set set = {{0}};

    config_ports = env_slot("device.pci_config");
    if (config_ports == NO_SLOT) {
        config_use_page(env_slot_of_kind("device"), (uint32_t)env_arg_u64("address", 0));
    }
    console = env_slot_of_kind("console");
    child = env_slot_of_kind("process");
    message_slot = env_arg_u64("messages", 1) != 0 ? env_slot_of_kind("message") : NO_SLOT;
    if (env_arg("driver", driver, sizeof driver) < 0) {
        panic("argument driver is missing\n");
    }
    uint32_t id = (uint32_t)env_arg_u64("vendor", 0) | (uint32_t)env_arg_u64("device", 0) << 16;
    if (!find_device(id)) {
        panic("no device %08x on the bus\n", id);
    }
    print("BUS device %08x at %02x:%02x.%u\n", id, address >> 8, address >> 3 & 31u, address & 7u);
    use_message_table();
    read_policy();
    slot = slot_of(address);
    if (slot.express != 0) {
        look_at = 0;
        print("BUS it is in a slot that it can be taken out of\n");
    }
    set_window();
    domain_start();
    domain_connect(PORT, driver, &pci_protocol, RING_CAPACITY, (uint32_t)env_arg_u64("dma_pages", 4));
    kills = env_arg_u64("kills", 0);
    kill_step = 1000 * env_arg_u64("kill_step_us", 0);
    moments.state = env_arg_u64("seed", sys_clock()) | 1;
    start_driver();
    set.mask[PORT] = ~0ul;
    set.mask[DOMAIN_EVENTS] = (child != NO_SLOT ? 1ul << child : 0) | (console != NO_SLOT ? 1ul << console : 0);
    for (;;) {
        uint32_t mailbox = domain_await(&set, kill_at < look_at ? kill_at : look_at);
        if (mailbox == DOMAIN_TIMEOUT && sys_clock() >= look_at) {
            look_at_slot();
        } else if (mailbox == DOMAIN_TIMEOUT) {
            kills--;
            kill_at = DEADLINE_NEVER;
            sys_process_kill(child);
            if (kills == 0) {
                print("BUS has killed %s for the last time\n", driver);
            }
        } else if (mailbox == AT(DOMAIN_EVENTS, child)) {
            driver_ended();
        } else if (mailbox == AT(DOMAIN_EVENTS, console)) {
            while (console_obey(console, obey)) {
            }
        } else {
            receive(mailbox);
        }
    }
}
