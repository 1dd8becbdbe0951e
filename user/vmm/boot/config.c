/* Reading the description's part for this monitor. Arguments: memory (bytes, with K M G), cmdline, epoch, paravirtual (names of
 * features), count_exits (1: they are told), disk (the process that drives it), disk_size, network (the process that drives it), pci (the
 * bus process that gives it a device), bar (by which base address register the guest sees it); files: kernel, initrd, or firmware; grants: a
 * machine and a notification for each virtual CPU, one console, and what the links to those processes take; a thread for each
 * virtual CPU but the first. */
#include "boot/config.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "cpu/features.h"
#include "machine.h"

#define CONFIG_TEXT 96u
#define DEFAULT_MEMORY (128ul << 20)
#define MAX_MEMORY (3ul << 30)     /* above would lie the PC's device addresses */
#define DEFAULT_EPOCH 1767225600ul /* 2026-01-01: there is no clock to ask */
#define DEFAULT_COMMAND_LINE "console=ttyS0"

static const struct {
    const char *name;
    uint32_t feature;
} features[] = {{"clock", FEATURE_CLOCK}, {"end-of-interrupt", FEATURE_END}, {"x2apic", FEATURE_X2APIC}};

/* The features that the argument names; all of them if it is not given. */
static uint32_t read_features(void)
{
    char text[CONFIG_TEXT];
    uint32_t all = 0, named = 0;
    long length = env_arg("paravirtual", text, sizeof text);
    for (uint32_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        uint64_t bytes = strlen(features[i].name);
        all |= features[i].feature;
        for (const char *at = text; length > 0 && *at != 0; at++) {
            if (strncmp(at, features[i].name, bytes) == 0) {
                named |= features[i].feature;
            }
        }
    }
    return length < 0 ? all : named;
}

/* The virtual CPU `number` but the first: its machine, notification and thread. Returns 0 if it has none. */
static uint32_t read_cpu(struct config *config, uint32_t number)
{
    char key[CONFIG_TEXT];
    struct cpu *cpu = &machine.cpu[number];
    format(key, sizeof key, "vm.cpu%u", number);
    cpu->slot = env_slot(key);
    format(key, sizeof key, "notification.cpu%u", number);
    cpu->wake = env_slot(key);
    format(key, sizeof key, "cpu%u", number);
    config->threads[number] = env_thread(key);
    return cpu->slot != NO_SLOT && cpu->wake != NO_SLOT && config->threads[number] != NO_SLOT;
}

/* The bit by which this process signals its own notification, as a mask. */
static uint64_t own_bit(const struct config *config, const char *notification)
{
    char key[CONFIG_TEXT];
    size_t length = 0;
    uint64_t bit = 0;
    format(key, sizeof key, "%s.%s", notification, config->name);
    const char *value = env_text_find((const char *)ENV_VADDR, "bit.", key, &length);
    return value != 0 && env_text_number(value, length, &bit) != 0 ? 1ul << (bit & 63) : 0;
}

static void read_cpus(struct config *config)
{
    const char *wake = config->disk[0] == 0 && config->network[0] == 0 && config->pci[0] == 0 ? "input" : config->name;
    char key[CONFIG_TEXT];
    format(key, sizeof key, "notification.%s", wake);
    machine.cpu[0].slot = env_slot("vm.guest");
    machine.cpu[0].wake = env_slot(key);
    machine.woken = own_bit(config, wake);
    config->cpus = 1;
    while (config->cpus < MAX_CPUS && read_cpu(config, config->cpus)) {
        config->cpus++;
    }
    machine.cpus = config->cpus;
    machine.features = read_features();
}

const char *config_read(struct config *config)
{
    env_name(config->name, sizeof config->name);
    config->console = env_slot_of_kind("console");
    config->disk_size = env_arg_u64("disk_size", ~0ul);
    if (env_arg("disk", config->disk, sizeof config->disk) < 0) {
        config->disk[0] = 0;
    }
    if (env_arg("network", config->network, sizeof config->network) < 0) {
        config->network[0] = 0;
    }
    if (env_arg("pci", config->pci, sizeof config->pci) < 0) {
        config->pci[0] = 0;
    }
    config->bar = (uint32_t)env_arg_u64("bar", 0);
    read_cpus(config);
    if (machine.cpu[0].wake == NO_SLOT) {
        return "this process has no notification to hear of its console, disk and network by";
    }
    if (config->console == NO_SLOT) {
        return "this process has no console";
    }
    if (machine.cpu[0].slot == NO_SLOT) {
        return "this process has no vm";
    }
    config->memory = env_arg_u64("memory", DEFAULT_MEMORY) & ~(PAGE_SIZE - 1);
    if (config->memory > MAX_MEMORY) {
        return "arg.memory is more than 3 GiB";
    }
    config->counts = env_arg_u64("count_exits", 0) != 0;
    config->epoch = env_arg_u64("epoch", DEFAULT_EPOCH);
    config->firmware_size = 0;
    env_file("firmware", &config->firmware, &config->firmware_size);
    if (env_file("kernel", &config->kernel, &config->kernel_size) == 0 && config->firmware_size == 0) {
        return "this process has no file \"kernel\", and no file \"firmware\"";
    }
    config->initrd_size = 0;
    config->initrd = 0;
    env_file("initrd", &config->initrd, &config->initrd_size);
    long length = env_arg("cmdline", config->command_line, sizeof config->command_line);
    if (length >= (long)sizeof config->command_line) {
        return "arg.cmdline is too long";
    }
    if (length < 0) {
        static const char text[] = DEFAULT_COMMAND_LINE;
        for (uint32_t i = 0; i < sizeof text; i++) {
            config->command_line[i] = text[i];
        }
    }
    return 0;
}
