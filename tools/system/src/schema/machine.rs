//! Tables and keys of a machine description, `machines/NAME.toml`.

use super::{optional, required, Kind, TableSpec};
use crate::layout::{GIB, MIB, NUM_IRQ_LINE};

pub const TABLES: &[TableSpec] = &[MACHINE, EMULATOR, DEVICE, INTERRUPT];

const MACHINE: TableSpec = TableSpec {
    name: "machine",
    named: false,
    required: true,
    meaning: "What the machine has.",
    keys: &[&[
        optional("about", Kind::Text, "empty", "One line for people."),
        required("cpus", Kind::Integer(1, 4096), "CPUs it has; more than the kernel's bound are not used."),
        required(
            "memory",
            Kind::Size(64 * MIB, 1024 * GIB),
            "Memory it has; the kernel uses 16 GiB of addresses, and 4 GiB where processes do DMA.",
        ),
        optional(
            "low_memory",
            Kind::Size(64 * MIB, 4 * GIB),
            "all of its memory",
            "The part of the memory that begins at address 0; the rest lies above 4 GiB.",
        ),
        optional("mitigations", Kind::Texts, "none", "Those of `verw`, `ibpb`, `stibp` that its CPUs have."),
        optional(
            "iommu",
            Kind::Choice(&["vt-d", "amd-vi", "none"]),
            "\"none\"",
            "The IOMMU that it surely has. Without this key the kernel uses one that it finds; a guest is given a PCI device only where the key says that there is one.",
        ),
        optional("virtualization", Kind::Choice(&["svm", "vmx", "none"]), "\"none\"", "How its CPUs run guests."),
    ]],
};

const EMULATOR: TableSpec = TableSpec {
    name: "emulator",
    named: false,
    required: false,
    meaning: "How to run the machine as an emulator.",
    keys: &[&[
        required("command", Kind::Text, "The emulator's program."),
        required(
            "arguments",
            Kind::Texts,
            "Its arguments. `{kernel}`, `{image}`, `{folder}` (the image's), `{machines}` (the folder of machine files), `{cpus}`, `{memory}` (MiB) and `{serial}` are filled in by `ashlar run`; `{disk}` is a file of the system's own, `{disc}` a disc image like that of `ashlar image`, made for each run.",
        ),
        optional(
            "environment",
            Kind::Texts,
            "none",
            "Variables of its environment, `NAME=VALUE`; what is filled in in arguments is filled in here too.",
        ),
        optional(
            "terminal",
            Kind::Flag,
            "false",
            "It draws on a terminal, and its serial line is another one, whose path it finds in the variable SERIAL; `ashlar run` makes both. Otherwise its standard input and output are the serial line.",
        ),
        optional("packages", Kind::Texts, "none", "Packages of Debian that it needs. Root's runs install them."),
        optional("disk", Kind::Size(MIB, 64 * GIB), "none", "Size of the file `{disk}`, which is made, all zeros, for each test; runs keep it."),
    ]],
};

const DEVICE: TableSpec = TableSpec {
    name: "device",
    named: true,
    required: false,
    meaning: "A window of device registers: either memory or ports.",
    keys: &[&[
        optional("memory", Kind::Range, "none", "Physical addresses, whole pages."),
        optional("ports", Kind::Range, "none", "I/O ports."),
        optional(
            "function",
            Kind::Function,
            "none",
            "The PCI function to which the registers belong. Where the machine has an IOMMU, this function reaches the DMA memory of the process that holds the registers, and a function that is named nowhere reaches no memory.",
        ),
        optional("kernel", Kind::Flag, "false", "The kernel uses it itself."),
    ]],
};

const INTERRUPT: TableSpec = TableSpec {
    name: "interrupt",
    named: true,
    required: false,
    meaning: "An interrupt line of the I/O interrupt controller.",
    keys: &[&[
        required(
            "line",
            Kind::Integer(0, NUM_IRQ_LINE as u64 - 1),
            "Its number at the controller (global system interrupt).",
        ),
        optional("trigger", Kind::Choice(&["edge", "level"]), "\"edge\"", "What an interrupt is on this line."),
        optional("polarity", Kind::Choice(&["high", "low"]), "\"high\"", "Which state is active."),
        optional(
            "function",
            Kind::Function,
            "none",
            "The PCI function that raises it, and may do so by a message: the parent of the process that owns the interrupt, such as a bus process, may then ask the kernel for the message. Where an IOMMU confines messages, no other function can send this one.",
        ),
        optional("kernel", Kind::Flag, "false", "The kernel uses it itself."),
    ]],
};
