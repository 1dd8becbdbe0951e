/* The monitor of one virtual machine: a process that loads a kernel into its own pages, shows them to the guest as
 * physical memory, and runs the guest's virtual CPUs, each by a thread, emulating what exits.
 *
 * To the kernel each virtual CPU is a machine of its own with one CPU; that they are one guest is that they have the same memory,
 * which the monitor gives to all of them, and the devices that it emulates.
 *
 * Exit codes: 0 the guest powered off, 1 the guest did something that cannot go on (or halted for good), 2 the system
 * description or a file is at fault, 3 a guest with a PCI device of its own wants a reset: its next life is another process's, so that
 * the device, which may have something under way, does not reach it. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "ashlar/thread.h"
#include "boot/config.h"
#include "boot/firmware.h"
#include "boot/loader.h"
#include "clock.h"
#include "connect.h"
#include "cpu/cpuid.h"
#include "cpu/pvclock.h"
#include "devices/console.h"
#include "devices/io.h"
#include "guest.h"
#include "machine.h"
#include "pci/passed.h"
#include "run.h"

#define EXIT_GUEST 1
#define EXIT_CONFIG 2
#define EXIT_RESET 3

static struct config config;
static uint32_t starts; /* of the guest, so far */
static uint32_t parked; /* virtual CPUs whose threads have seen the end of the run */

/* Adds a parameter to the command line unless the description gives that key itself. */
static void add_parameter(const char *key, const char *value)
{
    uint64_t key_length = strlen(key), length = strlen(config.command_line);
    for (const char *at = config.command_line; *at != 0; at++) {
        if (strncmp(at, key, key_length) == 0) {
            return;
        }
    }
    format(config.command_line + length, sizeof config.command_line - length, " %s%s", key, value);
}

/* What the monitor knows better than the guest can find out: the TSC's rate, that it can be trusted, and that its
 * devices need no pause between two accesses. */
static void add_parameters(uint64_t tsc_khz)
{
    char khz[24];
    format(khz, sizeof khz, "%lu", tsc_khz);
    add_parameter("tsc_early_khz=", khz);
    add_parameter("tsc=", "reliable");
    add_parameter("io_delay=", "none");
}

/* Where the monitor has the firmware: as far above the guest's memory as the guest has it. */
static uint64_t firmware_address(void)
{
    return GUEST_BASE + FIRMWARE_END - config.firmware_size;
}

/* Copies the firmware to pages that can be given to the guest: those of a file cannot. Returns a status. */
static uint32_t copy_firmware(void)
{
    uint32_t status = STATUS_OK;
    if (config.firmware_size != 0) {
        status = sys_mem_map(firmware_address(), config.firmware_size / PAGE_SIZE, PROT_READ | PROT_WRITE);
    }
    if (config.firmware_size != 0 && status == STATUS_OK) {
        memcpy((void *)firmware_address(), config.firmware, config.firmware_size);
    }
    return status;
}

/* Shows the guest's memory to a virtual CPU, and maps its page. Returns a status. */
static uint32_t map_cpu(struct cpu *cpu, uint64_t pages)
{
    uint64_t address = VCPU_ADDRESS + cpu->number * PAGE_SIZE;
    uint32_t status = sys_vm_map(cpu->slot, 0, GUEST_BASE, pages, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (status == STATUS_OK && config.firmware_size != 0) {
        status = sys_vm_map(cpu->slot, FIRMWARE_END - config.firmware_size, firmware_address(),
                            config.firmware_size / PAGE_SIZE, PROT_READ | PROT_EXEC);
    }
    if (status == STATUS_OK) {
        status = sys_vcpu_page(cpu->slot, address);
    }
    cpu->page = (volatile uint64_t *)address;
    return status;
}

/* Lets the guest's device reach its memory. Returns 0, or the exit code after a message. */
static int map_for_device(uint64_t pages)
{
    uint32_t status = passed_map(0, GUEST_BASE, pages);
    if (status == STATUS_OK) {
        return 0;
    }
    if (status == ERR_NOT_SUPPORTED) {
        print("vmm: %s: this machine has no IOMMU that would confine the guest's device: leave `pci` out\n",
              config.name);
    } else if (status == ERR_QUOTA) {
        print("vmm: %s: the quota has no room for the IOMMU's tables, one frame for each 2 MiB: raise it\n",
              config.name);
    } else {
        print("vmm: %s: mapping the guest's memory for its device failed with status %u\n", config.name, status);
    }
    return EXIT_CONFIG;
}

/* Maps the guest's memory into this process and to the guest. Returns 0, or the exit code after a message. */
static int map_memory(void)
{
    uint64_t pages = config.memory / PAGE_SIZE;
    uint32_t status = sys_mem_map(GUEST_BASE, pages, PROT_READ | PROT_WRITE);
    if (status == STATUS_OK) {
        status = copy_firmware();
    }
    for (uint32_t i = 0; i < config.cpus && status == STATUS_OK; i++) {
        machine.cpu[i].number = i;
        status = map_cpu(&machine.cpu[i], pages);
    }
    if (status == STATUS_OK) {
        guest_size = config.memory;
        return config.pci[0] != 0 ? map_for_device(pages) : 0;
    }
    uint64_t used = 0, quota = 0;
    sys_quota(&used, &quota);
    if (status == ERR_QUOTA) {
        print("vmm: %s: memory=%luM needs %lu frames and some for page tables, but the quota is %lu with %lu in use: "
              "raise the quota or lower the memory\n",
              config.name, config.memory >> 20, pages, quota, used);
    } else if (status == ERR_NOT_SUPPORTED) {
        print("vmm: %s: this CPU cannot run guests (no AMD SVM with nested paging)\n", config.name);
    } else {
        print("vmm: %s: mapping the guest's memory failed with status %u\n", config.name, status);
    }
    return EXIT_CONFIG;
}

/* ---- the virtual CPUs ---- */

/* The thread of a virtual CPU but the first: waits for each start of the guest. */
static void run_other(uint64_t number)
{
    struct cpu *cpu = &machine.cpu[number];
    uint32_t seen = 0;
    for (;;) {
        uint64_t bits = 0;
        while (__atomic_load_n(&starts, __ATOMIC_SEQ_CST) == seen) {
            sys_wait(cpu->wake, DEADLINE_NEVER, &bits);
        }
        seen++;
        run_cpu(cpu);
        __atomic_fetch_add(&parked, 1, __ATOMIC_SEQ_CST);
        cpu_signal(&machine.cpu[0]);
    }
}

/* Returns 0, or the exit code after a message. */
static int start_threads(void)
{
    for (uint32_t i = 1; i < config.cpus; i++) {
        uint32_t status = thread_start(config.threads[i], run_other, i);
        if (status != STATUS_OK) {
            print("vmm: %s: the thread of virtual CPU %u cannot be started: status %u\n", config.name, i, status);
            return EXIT_CONFIG;
        }
    }
    return 0;
}

/* All as after power-on. Requires that no virtual CPU runs. */
static void reset(const struct load_request *request, uint64_t tsc_khz)
{
    struct load_result start;
    loader_place(request, &start);
    machine.ending = 0;
    machine.watched = ~0ul;
    machine.tsc_offset = 0ul - clock_tsc();
    for (uint32_t i = 0; i < config.cpus; i++) {
        struct cpu *cpu = &machine.cpu[i];
        lapic_init(&cpu->lapic, i, tsc_khz);
        inbox_clear(&cpu->inbox);
        cpu->state = i == 0 ? CPU_RUNS : CPU_WAITS;
        cpu->nmi = 0;
        cpu->away = 0;
        cpu->stuck = 0;
        memset(cpu->exits, 0, sizeof cpu->exits);
        cpu->page[VCPU_TSC_OFFSET] = machine.tsc_offset;
        cpuid_publish(cpu);
    }
    if (start.kind == START_RESET) {
        vcpu_start_reset(machine.cpu[0].page);
        firmware_tell(request, &machine.fw_cfg);
    } else if (start.kind == START_32) {
        vcpu_start_32(machine.cpu[0].page, start.entry, start.argument);
    } else {
        vcpu_start_64(machine.cpu[0].page, start.entry, start.page_tables, start.gdt, start.argument);
    }
    pvclock_init(tsc_khz, config.epoch, clock_now());
    io_reset(config.epoch, config.bar);
    console_start(config.console);
}

/* Runs the guest once. When this returns, its end is in `machine`, and no virtual CPU runs. */
static void run_once(void)
{
    struct cpu *first = &machine.cpu[0];
    parked = 0;
    __atomic_fetch_add(&starts, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 1; i < config.cpus; i++) {
        cpu_signal(&machine.cpu[i]);
    }
    run_cpu(first);
    while (__atomic_load_n(&parked, __ATOMIC_SEQ_CST) < config.cpus - 1) {
        uint64_t bits = 0;
        sys_wait(first->wake, DEADLINE_NEVER, &bits);
        first->bits |= bits;
    }
}

/* A line for each virtual CPU: `EXITS cpu 0: 1234, io 56, ...` */
static void say_exits(void)
{
    static const char *const name[CPU_EXITS] = {
        [VCPU_EXIT_NONE] = "none",         [VCPU_EXIT_IO] = "io",
        [VCPU_EXIT_MEMORY] = "memory",     [VCPU_EXIT_CPUID] = "cpuid",
        [VCPU_EXIT_MSR_READ] = "rdmsr",    [VCPU_EXIT_MSR_WRITE] = "wrmsr",
        [VCPU_EXIT_HALT] = "halt",         [VCPU_EXIT_INTERRUPT_WINDOW] = "window",
        [VCPU_EXIT_DEADLINE] = "deadline", [VCPU_EXIT_NOTIFIED] = "notified",
    };
    for (uint32_t i = 0; i < config.cpus; i++) {
        const struct cpu *cpu = &machine.cpu[i];
        uint64_t all = 0;
        for (uint32_t k = 1; k < CPU_EXITS; k++) {
            all += cpu->exits[k];
        }
        print("EXITS cpu %u: %lu", i, all);
        for (uint32_t k = 1; k < CPU_EXITS; k++) {
            if (name[k] != 0 && cpu->exits[k] != 0) {
                print(", %s %lu", name[k], cpu->exits[k]);
            }
        }
        print("\n");
    }
}

static void say_why(void)
{
    volatile const uint64_t *vcpu = machine.cpu[machine.end_cpu].page;
    char which[24] = "";
    if (config.cpus > 1) {
        format(which, sizeof which, "cpu %u, ", machine.end_cpu);
    }
    print("vmm: %s: guest ended: %s (%srip 0x%lx, rsp 0x%lx, flags 0x%lx, cr2 0x%lx, cr3 0x%lx, event 0x%lx, "
          "info 0x%lx 0x%lx)\n",
          config.name, machine.why, which, vcpu[VCPU_RIP], vcpu_reg(vcpu, RSP), vcpu[VCPU_RFLAGS], vcpu[VCPU_CR2],
          vcpu[VCPU_CR3], vcpu[VCPU_INJECT], vcpu[VCPU_EXIT_INFO1], vcpu[VCPU_EXIT_INFO2]);
}

int main(void)
{
    const char *fault = config_read(&config);
    if (fault != 0) {
        print("vmm: %s: %s\n", config.name, fault);
        return EXIT_CONFIG;
    }
    const struct load_request request = {
        .memory = (uint8_t *)GUEST_BASE,
        .memory_size = config.memory,
        .firmware = config.firmware,
        .firmware_size = config.firmware_size,
        .kernel = config.kernel,
        .kernel_size = config.kernel_size,
        .initrd = config.initrd,
        .initrd_size = config.initrd_size,
        .command_line = config.command_line,
        .cpus = config.cpus,
        .has_pci = config.pci[0] != 0,
    };
    const char *what = config.firmware_size != 0 ? "firmware" : "kernel";
    machine.has_firmware = config.firmware_size != 0;
    clock_measure_begin();
    fault = loader_check(&request);
    if (fault != 0) {
        print("vmm: %s: the file \"%s\" cannot be started: %s\n", config.name, what, fault);
        return EXIT_CONFIG;
    }
    int code = map_memory();
    if (code != 0) {
        return code;
    }
    uint64_t tsc_khz = clock_measure_khz();
    add_parameters(tsc_khz);
    fault = loader_check(&request); /* the command line has grown */
    if (fault != 0) {
        print("vmm: %s: the file \"%s\" cannot be started: %s\n", config.name, what, fault);
        return EXIT_CONFIG;
    }
    fault = connect(&config);
    if (fault != 0) {
        print("vmm: %s: its PCI device cannot be passed to it: %s\n", config.name, fault);
        return EXIT_CONFIG;
    }
    code = start_threads();
    while (code == 0) {
        reset(&request, tsc_khz);
        run_once();
        console_drain();
        if (config.counts) {
            say_exits();
        }
        if (machine.end == END_POWER_OFF) {
            print("GUEST-OFF\n");
            return 0;
        }
        if (machine.end != END_RESET) {
            say_why();
            return EXIT_GUEST;
        }
        print("GUEST-RESET\n");
        if (config.pci[0] != 0) {
            return EXIT_RESET;
        }
        memset((void *)GUEST_BASE, 0, guest_size);
    }
    return code;
}
