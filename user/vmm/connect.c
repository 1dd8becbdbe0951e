/* Waiting for what the guest is to find when it starts. */
#include "connect.h"

#include "ashlar/print.h"
#include "ashlar/syscall.h"
#include "clock.h"
#include "machine.h"
#include "pci/passed.h"
#include "virtio/disk.h"
#include "virtio/links.h"
#include "virtio/network.h"

#define SECOND 1000000000ul      /* ns */
#define SAYS_AFTER (10 * SECOND) /* that it waits */
#define PATIENCE (60 * SECOND)   /* a machine whose start is slow shows its devices late */

static const struct config *config;

static uint32_t disk_is_missing(void)
{
    return config->disk[0] != 0 && disk_identity()->sectors == 0;
}

static uint32_t network_is_missing(void)
{
    return config->network[0] != 0 && network_is_known() == 0;
}

/* The bus has not given it. */
static uint32_t device_is_missing(void)
{
    return config->pci[0] != 0 && passed_known() == 0;
}

static uint32_t is_anything_missing(void)
{
    return disk_is_missing() || network_is_missing() || device_is_missing();
}

static void say_missing(const char *what, const char *driver, uint64_t waited, const char *then)
{
    print("vmm: %s: `%s` has shown no %s within %lu s: the guest %s\n", config->name, driver, what, waited / SECOND,
          then);
}

static void say_what_is_missing(uint64_t waited, const char *then)
{
    if (disk_is_missing()) {
        say_missing("disk", config->disk, waited, then);
    }
    if (network_is_missing()) {
        say_missing("network", config->network, waited, then);
    }
    if (device_is_missing()) {
        say_missing("PCI device", config->pci, waited, then);
    }
}

/* Takes messages until all is there, or until a time of the clock. */
static void await_links(uint64_t until)
{
    while (is_anything_missing() && clock_now() < until) {
        uint64_t bits = 0, deadline = links_deadline() < until ? links_deadline() : until;
        sys_wait(machine.cpu[0].wake, deadline, &bits);
        links_receive(bits);
        if (clock_now() >= links_deadline()) {
            links_expire(clock_now());
        }
    }
}

const char *connect(const struct config *configured)
{
    uint64_t begun = clock_now();
    const char *fault;
    config = configured;
    if (config->disk[0] == 0 && config->network[0] == 0 && config->pci[0] == 0) {
        return 0;
    }
    links_connect(config->disk, config->disk_size, config->network);
    fault = config->pci[0] != 0 ? passed_connect() : 0;
    if (fault == 0) {
        await_links(begun + SAYS_AFTER);
        say_what_is_missing(SAYS_AFTER, "waits for it");
        await_links(begun + PATIENCE);
        say_what_is_missing(PATIENCE, "starts without");
    }
    return fault;
}
