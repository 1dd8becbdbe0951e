/* What the system description says about this monitor. */
#ifndef VMM_CONFIG_H
#define VMM_CONFIG_H

#include "cpu/cpu.h"

#define CONFIG_COMMAND_LINE 1536u
#define CONFIG_NAME 32u

struct config {
    char name[CONFIG_NAME];
    uint32_t console;           /* slot */
    uint32_t cpus;              /* virtual CPUs; their slots and threads are in `machine` */
    uint32_t threads[MAX_CPUS]; /* the thread of each but the first */
    char disk[CONFIG_NAME];     /* process that drives the guest's disk; empty: it has none */
    char network[CONFIG_NAME];  /* process that drives its network; empty: it has none */
    char pci[CONFIG_NAME];      /* bus process that gives it a PCI device; empty: it has none */
    uint32_t bar;               /* base address register of the device's registers */
    uint64_t disk_size;         /* bytes of it that the guest gets */
    uint32_t counts;            /* 1: tell how often the guest exited, when its run ends */
    uint64_t memory;            /* guest memory, bytes */
    uint64_t epoch;             /* time of day at boot, seconds since 1970 */
    const void *firmware;
    uint64_t firmware_size; /* 0: it starts with a kernel */
    const void *kernel;
    uint64_t kernel_size;
    const void *initrd;
    uint64_t initrd_size;
    char command_line[CONFIG_COMMAND_LINE];
};

/* Reads the environment page; what it says of the virtual CPUs goes to `machine`. Returns null, or what is missing in the description. */
const char *config_read(struct config *config);

#endif
