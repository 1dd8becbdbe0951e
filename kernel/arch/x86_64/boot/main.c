/* Start-up of the first processor, from the 64-bit switch to the idle loop. */
#include <stdint.h>

#include "interrupt/apic.h"
#include "boot/acpi.h"
#include "clock/clock.h"
#include "cpu/cpu.h"
#include "boot/info.h"
#include "guest/svm.h"
#include "iommu/iommu_units.h"
#include "interrupt/ioapic.h"
#include "memory/kernel_map.h"
#include "device/keyboard_port.h"
#include "boot/memory.h"
#include "cpu/percpu.h"
#include "boot/platform.h"
#include "print.h"
#include "device/serial.h"
#include "boot/smp.h"
#include "start.h"
#include "table.h"
#include "trap.h"

void arch_run_on_stack(uint64_t top, void (*function)(void));

static void check_processor(void)
{
    const char *missing = cpu_missing_feature();
    if (missing != 0) {
        boot_fail(
            "this processor lacks %s, which Ashlar needs; with QEMU use -cpu max or -cpu EPYC, on a PC switch it on "
            "in the firmware set-up",
            missing);
    }
}

static void start_clock(void)
{
    const char *reference = clock_calibrate();
    if (reference == 0) {
        boot_fail("no clock to measure time with (HPET, ACPI timer, PIT); switch one on in the firmware set-up");
    }
    clock_init_cpu();
    boot_print("boot: clock: TSC %U kHz, timer %U kHz, measured against %s\n", clock_tsc_hz() / 1000,
               clock_timer_hz() / 1000, reference);
}

/* Many devices reach 32-bit addresses only, and drivers choose their memory themselves. */
static void keep_devices_reach(void)
{
    uint32_t lost = table_uses_dma() != 0 ? memory_keep_below_4_gib() : 0;
    if (lost != 0) {
        boot_print("boot: %u MiB above 4 GiB are not used, because devices of this system may not reach them\n",
                   lost / 256);
    }
}

/* From here on a device reaches only pages that the process which owns it has mapped for it. */
static void start_iommu(void)
{
    uint64_t tables = 0;

    if (platform.iommu_count == 0) {
        return;
    }
    tables = memory_take(iommu_units_frames());
    const char *fault = tables == 0 ? "there is no memory for its tables" : iommu_units_start(tables);
    if (fault != 0) {
        boot_fail("the IOMMU cannot be used: %s; switch it off in the firmware set-up if drivers are to be trusted",
                  fault);
    }
    boot_print("boot: IOMMU: %s, %u units at %x, devices reach only memory that their process maps for them%s\n",
               platform.iommu_kind == IOMMU_INTEL ? "VT-d" : "AMD-Vi", platform.iommu_count, platform.iommu[0],
               iommu_replaces() ? ", interrupts are remapped" : "");
}

/* Where it returns, it does so on the CPU that is the first one from here on. */
static void choose_first(void)
{
    if (svm_tcg_first_unfit() == 0 || platform.cpu_count == 1 || table_count(BOOT_VMS) == 0) {
        return;
    }
    if (platform.cpu_count > table_count(BOOT_CPUS)) {
        smp_leave_first();
        return;
    }
    boot_print("boot: guests on the first of several emulated processors can fail; use -smp %u, then it is left out\n",
               table_count(BOOT_CPUS) + 1);
}

/* loader: LOADER_*; information: physical address of the loader's structure. Does not return. */
void boot_main(uint32_t loader, uint64_t information)
{
    clock_note_entry();
    serial_init();
    boot_print("Ashlar\n");
    check_processor();
    write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_NXE);
    kernel_map_build();
    thread_records_init();
    idt_build();
    percpu_init(0, cpuid(1, 0).ebx >> 24);
    cpu_init();
    boot_info_read(loader, information);
    memory_set_caching();
    acpi_read();
    apic_init_cpu();
    platform.apic_id[0] = percpu[0].apic_id = apic_id();
    ioapic_init();
    keyboard_port_init();
    start_clock();
    table_verify();
    choose_first();
    keep_devices_reach();
    start_iommu();
    smp_start();
    boot_print("boot: %u processors, %u MiB free\n", cpus_started, memory_free_pieces(0) / 256);
    if (platform.cpu_ignored != 0) {
        boot_print("boot: %u more processors are not used (at most %u)\n", platform.cpu_ignored, NUM_CPU);
    }
    start_system();
    arch_run_on_stack(STACK_TOP(0), trap_idle);
}
