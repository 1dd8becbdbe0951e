/* Reading the description's part for this monitor. Arguments: memory (bytes, with K M G), cmdline, epoch, disk
 * (the process that drives it), disk_size, network (the process that drives it); files: kernel, initrd; grants: one vm, one console, one notification for all that
 * the monitor waits for, and what the links to those processes take. */
#include "boot/config.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/syscall.h"

#define DEFAULT_MEMORY (128ul << 20)
#define MAX_MEMORY (3ul << 30)     /* above would lie the PC's device addresses */
#define DEFAULT_EPOCH 1767225600ul /* 2026-01-01: there is no clock to ask */
#define DEFAULT_COMMAND_LINE "console=ttyS0"

const char *config_read(struct config *config)
{
    char key[CONFIG_NAME + 16];
    env_name(config->name, sizeof config->name);
    config->vm = env_slot("vm.guest");
    config->console = env_slot_of_kind("console");
    config->disk_size = env_arg_u64("disk_size", ~0ul);
    if (env_arg("disk", config->disk, sizeof config->disk) < 0) {
        config->disk[0] = 0;
    }
    if (env_arg("network", config->network, sizeof config->network) < 0) {
        config->network[0] = 0;
    }
    if (config->disk[0] == 0 && config->network[0] == 0) {
        config->wake = env_slot("notification.input");
    } else {
        format(key, sizeof key, "notification.%s", config->name);
        config->wake = env_slot(key);
        if (config->wake == NO_SLOT) {
            return "this process has no notification of its own name, to hear of its disk and network by";
        }
    }
    if (config->console == NO_SLOT) {
        return "this process has no console";
    }
    if (config->vm == NO_SLOT) {
        return "this process has no vm";
    }
    config->memory = env_arg_u64("memory", DEFAULT_MEMORY) & ~(PAGE_SIZE - 1);
    if (config->memory > MAX_MEMORY) {
        return "arg.memory is more than 3 GiB";
    }
    config->epoch = env_arg_u64("epoch", DEFAULT_EPOCH);
    if (env_file("kernel", &config->kernel, &config->kernel_size) == 0) {
        return "this process has no file \"kernel\"";
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
