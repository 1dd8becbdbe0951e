//! Tables and keys of a system description, `systems/NAME.toml`.

use super::{optional, required, KeySpec, Kind, Object, TableSpec};
use crate::layout::{
    BUFFER_CAPACITY, GIB, KIB, MAX_PRIORITY, MIB, MIN_PRIORITY, NUM_CPU, SCHED_BUDGET_MIN_NS, SCHED_PERIOD_MAX_NS,
};

const NS_PER_US: u64 = 1_000;

/// The supervisor remembers when so many restarts were.
const RESTART_LIMIT_MAX: u64 = 16;
const SHARE_MAX: u64 = 16;
const RESTART_WITHIN_MAX: u64 = 24 * 3_600 * 1_000_000_000;

pub const TABLES: &[TableSpec] = &[SYSTEM, PROCESS, VM, ENDPOINT, NOTIFICATION, BUFFER, SHARE, INTERRUPT, CONSOLE];

const SYSTEM: TableSpec = TableSpec {
    name: "system",
    named: false,
    required: true,
    meaning: "What holds for the system as a whole. Its name is the file's name without `.toml`.",
    keys: &[&[
        required(
            "machine",
            Kind::Text,
            "The machine it runs on: `machines/NAME.toml`, or a path that ends in `.toml`, relative to this file.",
        ),
        optional("about", Kind::Text, "empty", "One line for people, shown by the tools."),
        optional(
            "cpus",
            Kind::Integer(1, NUM_CPU as u64),
            "one more than the highest CPU named",
            "CPUs the system needs, numbered from 0. It also runs where there are more.",
        ),
        optional(
            "mitigations",
            Kind::Texts,
            "none",
            "What is done against leaks through speculation and shared registers, each with its cost: `verw`, `ibpb`, \
             `stibp`, where the machine has them; `selectors`, `vector-state`. The caveats say what each is for.",
        ),
    ]],
};

const PROGRAM: &[KeySpec] = &[optional(
    "program",
    Kind::Name(Object::Program),
    "loaded by its parent at run time",
    "The program it runs, without `.elf`. Several processes may run the same program. A process that starts at boot \
     must have one.",
)];

const PERIOD: KeySpec = optional(
    "period",
    Kind::Duration(100 * NS_PER_US, SCHED_PERIOD_MAX_NS),
    "no reservation: time is not limited, or that of the thread that calls it",
    "With `budget`: a reservation. In every period a thread may run for its budget, and no longer. A process's holds \
     for its only thread on a CPU; several on one CPU need one each. A thread without a reservation runs on that of \
     the thread of its CPU that calls it, until it replies.",
);
const BUDGET: KeySpec =
    optional("budget", Kind::Duration(SCHED_BUDGET_MIN_NS, SCHED_PERIOD_MAX_NS), "no reservation", "See `period`.");

const DEADLINE: KeySpec = optional(
    "deadline",
    Kind::Duration(SCHED_BUDGET_MIN_NS, SCHED_PERIOD_MAX_NS),
    "the period",
    "By when, counted from the moment that its work comes, the thread has run for its budget; at most the period. The \
     kernel does not know it: `ashlar timing --system` says whether it is met.",
);

/// Keys that a process and a virtual machine's monitor share.
const RUNNING: &[KeySpec] = &[
    optional("cpu", Kind::Integer(0, NUM_CPU as u64 - 1), "0", "CPU on which its threads run; threads never migrate."),
    optional(
        "priority",
        Kind::Integer(MIN_PRIORITY, MAX_PRIORITY),
        "100",
        "Priority of its threads. The highest ready one of a CPU runs; equal ones take turns.",
    ),
    optional(
        "quota",
        Kind::Size(4 * KIB, 4 * GIB),
        "the least that lets it start, with its children's quotas, and 256 KiB",
        "Memory it may use in all: segments, stack, tables, what it maps at run time, and its children's quotas. \
         Rounded up to whole pages of 4 KiB.",
    ),
    optional("stack", Kind::Size(4 * KIB, 16 * MIB), "64KiB", "Stack of its first thread."),
    PERIOD,
    BUDGET,
    DEADLINE,
    optional(
        "parent",
        Kind::Name(Object::Process),
        "none",
        "The process that may kill and create it, and from whose quota its own is split.",
    ),
    optional(
        "start",
        Kind::Choice(&["boot", "parent"]),
        "\"parent\" if it has a parent, else \"boot\"",
        "Who starts it: the kernel at boot, or its parent at run time.",
    ),
    optional(
        "on_death",
        Kind::Name(Object::Notification),
        "none",
        "Notification, waited on by the parent, that is signalled when this process has ended.",
    ),
    optional(
        "restart",
        Kind::Choice(&["never", "on-failure", "always"]),
        "\"never\"",
        "When the parent starts it again after its end: never, unless it exited with code 0, or always. The parent hears of the \
         end by `on_death`; the program `supervisor` does what these keys say.",
    ),
    optional(
        "restart_limit",
        Kind::Integer(1, RESTART_LIMIT_MAX),
        "5",
        "So many restarts within `restart_within` are the most: then it stays ended.",
    ),
    optional("restart_within", Kind::Duration(NS_PER_US, RESTART_WITHIN_MAX), "\"60s\"", "See `restart_limit`."),
    optional(
        "fault_endpoint",
        Kind::Name(Object::Endpoint),
        "a fault ends the process",
        "Endpoint of another process that receives this one's faults and replies how the thread continues.",
    ),
    optional("console", Kind::Name(Object::Console), "none", "Console it writes to and reads from, alone."),
    optional("devices", Kind::Names(Object::Device), "none", "Devices of the machine that it drives, alone."),
    optional("power", Kind::Flag, "false", "May end the run of the whole system."),
    optional("dma", Kind::Flag, "false", "May learn physical addresses of its own pages, to program devices with. Behind an IOMMU its devices reach these pages and no others."),
    optional(
        "trace",
        Kind::Flag,
        "false",
        "May read what the kernel records: what happens on each CPU and when, mapped read-only (`ashlar/trace.h`). The system then \
         runs on the kernel that records.",
    ),
    optional(
        "disk",
        Kind::Name(Object::Process),
        "none",
        "The process that drives its disk, such as one that runs `ahci` or `nvme`; it drives it for this client alone. Or one \
         with `serves = \"sata\"`, such as the block service, which gives each of its clients a part of a disk. The share, the \
         notifications and the `args.sata` that both ends need are made; a program finds the name as `arg.disk`.",
    ),
    optional(
        "disk_at",
        Kind::Size(0, 1 << 50),
        "none; required where `disk` serves parts",
        "Where its part of the disk begins, in bytes: a multiple of 512.",
    ),
    optional(
        "disk_size",
        Kind::Size(512, 1 << 50),
        "of a guest with a driver of its own: the whole disk; required where `disk` serves parts",
        "How much of the disk it gets: a multiple of 512 bytes. A guest with a driver of its own gets it from the disk's beginning.",
    ),
    optional(
        "disk_share",
        Kind::Integer(1, SHARE_MAX),
        "1",
        "How much of the disk's service it gets where others want as much as they can have: its part of the sum of all clients' shares.",
    ),
    optional(
        "sound",
        Kind::Name(Object::Process),
        "none",
        "The process that drives the sound controller which it plays or records by, with `serves = \"audio\"`, such as one that runs \
         `hda`. The share and the notifications that both ends need are made; the program finds the name as `arg.sound`.",
    ),
    optional(
        "serves",
        Kind::Choice(&["audio", "ethernet", "sata"]),
        "none",
        "It serves all who name it by this protocol, each at a link of its own. With `ethernet` it is the network of every guest and \
         process whose `network` names it, as the program `switch` is (`ashlar/net_port.h`). With `sata` it is the disk of every process \
         and guest whose `disk` names it, as the program `block` is, and has a `disk` itself that it gives parts of. With `audio` it drives a sound controller for all \
         whose `sound` names it, as the driver `hda` does.",
    ),
    optional(
        "uplink",
        Kind::Name(Object::Process),
        "none: its clients reach each other only",
        "With `serves = \"ethernet\"`: the process that drives the card by which the switch's clients reach what is outside, such as one \
         that runs `rtl8139` or `e1000e`; it drives it for this switch alone.",
    ),
    optional(
        "files",
        Kind::Files,
        "none",
        "Files mapped read-only into it: `files.NAME = FILE`. A FILE with a `/` is a path relative to this \
         description, `NAME.elf` a program of this tree, any other the name of a guest file. The program finds them as `file.NAME`.",
    ),
    optional(
        "args",
        Kind::Arguments,
        "none",
        "Texts for the program: `args.KEY = \"VALUE\"`. The program finds them as `arg.KEY`. Integers and true/false \
         may stand without quotes.",
    ),
];

pub const THREAD: TableSpec = TableSpec {
    name: "thread",
    named: true,
    required: false,
    meaning: "A further thread of the process, which the process starts itself. The first thread is `main`.",
    keys: &[&[
        optional("cpu", Kind::Integer(0, NUM_CPU as u64 - 1), "that of the process", "CPU on which it runs."),
        optional("priority", Kind::Integer(MIN_PRIORITY, MAX_PRIORITY), "that of the process", "Its priority."),
        PERIOD,
        BUDGET,
        DEADLINE,
    ]],
};

/// Keys of processes and guests that have a network.
const NETWORK: &[KeySpec] = &[
    optional(
        "network",
        Kind::Name(Object::Process),
        "none",
        "Its network: the process that drives a card for it alone, such as one that runs `rtl8139` or `e1000e`, or a switch, with `serves = \
         \"ethernet\"`. The share, the notifications and the `args.ethernet` that both ends need are made. A program finds it as \
         `arg.network`.",
    ),
    optional(
        "mac",
        Kind::Text,
        "`02:41:53:48:00:NN`, where it is client NN of its switch in the order of the text",
        "Its hardware address at a switch, which lets it send from no other: six bytes in hexadecimal, such as \
         \"02:00:00:00:00:05\".",
    ),
    optional(
        "network_share",
        Kind::Integer(1, SHARE_MAX),
        "1",
        "How much of its switch it gets where others want as much as they can have: its part of the sum of all clients' shares.",
    ),
];

const THREADS: &[KeySpec] = &[optional(
    "thread",
    Kind::Tables(&THREAD),
    "only the first thread",
    "Further threads: `[process.NAME.thread.THREAD]`. The program finds their indices as `thread.THREAD`. The first \
     thread is called `main` and has no such table: its keys are those of the process.",
)];

const PROCESS: TableSpec = TableSpec {
    name: "process",
    named: true,
    required: false,
    meaning: "A program with an address space, threads and rights of its own.",
    keys: &[PROGRAM, RUNNING, NETWORK, THREADS],
};

/// Features of a guest that it can be told of or not: names as `user/vmm/boot/config.c` knows them.
pub const PARAVIRTUAL: &[&str] = &["clock", "end-of-interrupt", "x2apic"];

const VM: TableSpec = TableSpec {
    name: "vm",
    named: true,
    required: false,
    meaning: "A virtual machine. It stands for the process that runs its monitor, of the same name, with the right to \
              the machine, its console, and a notification for console input; so other tables can name it as a \
              process, and it takes a process's keys.",
    keys: &[
        &[
            required(
                "memory",
                Kind::Size(16 * MIB, 3 * GIB),
                "Memory of the guest; rounded down to whole pages of 4 KiB.",
            ),
            optional(
                "kernel",
                Kind::Name(Object::File),
                "none; only with `firmware`, or where `monitor` names a program that brings its own guest",
                "The guest's kernel: a Linux bzImage, another program for that boot protocol, or an ELF file with a PVH entry; named like `files`. `debian-cloud` is Debian's Linux for virtual machines, `memtest86+` its memory tester.",
            ),
            optional(
                "firmware",
                Kind::Name(Object::File),
                "none",
                "The guest starts as a PC does, in place of `kernel`: `seabios`, Debian's SeaBIOS for QEMU's machine `microvm`, or the path \
                 of such an image. It starts what the guest's `disk` holds.",
            ),
            optional(
                "disk_image",
                Kind::Name(Object::File),
                "none: the disk is empty",
                "What the guest's `disk`, or its part of one, holds when the emulated machine's disk is made: `debian`, an installation of \
                 Debian with GRUB, made from its packages; `grub`, GRUB alone; or the path of an image. A disk that is there already is left \
                 as it is.",
            ),
            optional("initrd", Kind::Name(Object::File), "none", "The guest's initial ramdisk; named like `files`."),
            optional(
                "cpus",
                Kind::Integers(0, NUM_CPU as u64 - 1),
                "one virtual CPU, on `cpu`",
                "Several virtual CPUs: the CPU of each, all different. The guest's first CPU is the first of the list. Each takes \
                 part in the monitor's `priority`; `period` and `budget` are for each.",
            ),
            optional(
                "paravirtual",
                Kind::Choices(PARAVIRTUAL),
                "all of them",
                "What the guest sees that spares it exits, where it knows KVM's interface: `clock`, a clock in its memory that \
                 it need not measure; `end-of-interrupt`, by a word of its memory; `x2apic`, the registers of its local interrupt \
                 controller as model-specific ones. Without any it does not learn of KVM.",
            ),
            optional(
                "pci",
                Kind::Name(Object::Process),
                "none",
                "The bus process, such as one that runs `pci_bus`, that gives it a PCI device, which the guest drives itself \
                 (pass-through). `devices` names the device's registers, one window of memory whose size is a power of two, and the \
                 interrupt with the same `function` signals the notification of the guest's name. Behind the machine's `iommu`, which \
                 there must be, the device reaches the guest's memory and nothing else. `dma`, share, notifications, console input and \
                 the arguments that both ends need are made.",
            ),
            optional("cmdline", Kind::Text, "\"console=ttyS0\"", "The guest kernel's command line."),
            optional("monitor", Kind::Name(Object::Program), "\"vmm\"", "The program that monitors it."),
        ],
        RUNNING,
        NETWORK,
    ],
};

const AS: KeySpec = optional(
    "as",
    Kind::Text,
    "its own name",
    "Name under which the processes at its ends see it, so that one program can serve under several descriptions.",
);

const ENDPOINT: TableSpec = TableSpec {
    name: "endpoint",
    named: true,
    required: false,
    meaning: "Where one process receives messages and calls of others. Each sender is told apart by its badge.",
    keys: &[&[
        required("receiver", Kind::Name(Object::Process), "The process that receives and replies."),
        optional("senders", Kind::Names(Object::Process), "none", "The processes that may send and call."),
        optional(
            "order",
            Kind::Choice(&["priority", "fifo"]),
            "\"priority\"",
            "Order in which waiting senders are served.",
        ),
        AS,
    ]],
};

const NOTIFICATION: TableSpec = TableSpec {
    name: "notification",
    named: true,
    required: false,
    meaning: "A word of 64 bits that others set and one process waits for.",
    keys: &[&[
        required("waiter", Kind::Name(Object::Process), "The process that waits."),
        optional(
            "signallers",
            Kind::Names(Object::Process),
            "none",
            "The processes that may signal; each sets a bit of its own, in this order from bit 63 downwards.",
        ),
        AS,
    ]],
};

const BUFFER: TableSpec = TableSpec {
    name: "buffer",
    named: true,
    required: false,
    meaning: "A bounded buffer of 64-bit words in the kernel; inserting into a full one waits, as does removing from \
              an empty one.",
    keys: &[&[
        required("producers", Kind::Names(Object::Process), "The processes that insert."),
        required("consumers", Kind::Names(Object::Process), "The processes that remove."),
        optional("capacity", Kind::Integer(1, BUFFER_CAPACITY as u64), "64", "Words it holds."),
        AS,
    ]],
};

const SHARE: TableSpec = TableSpec {
    name: "share",
    named: true,
    required: false,
    meaning: "A way for one process to offer a page of its memory to another.",
    keys: &[&[
        required("from", Kind::Name(Object::Process), "The process that offers."),
        required("to", Kind::Name(Object::Process), "The process that accepts, and pays for the page too."),
        optional(
            "read_only",
            Kind::Flag,
            "false",
            "The process that accepts may only read what it is offered, and so may every process that it passes it on to.",
        ),
        AS,
    ]],
};

const INTERRUPT: TableSpec = TableSpec {
    name: "interrupt",
    named: true,
    required: false,
    meaning: "An interrupt of the machine, by its name in the machine file, given to a process.",
    keys: &[&[required(
        "notification",
        Kind::Name(Object::Notification),
        "Notification that it signals. The process that waits there owns the interrupt and acknowledges it.",
    )]],
};

const CONSOLE: TableSpec = TableSpec {
    name: "console",
    named: true,
    required: false,
    meaning:
        "A console on the machine's serial line, shown under its name. The kernel's own, `kernel`, is always there.",
    keys: &[&[
        optional(
            "up",
            Kind::Regex,
            "none",
            "Output that shows that its system is up; `ashlar run --until up` waits for it.",
        ),
        optional(
            "input",
            Kind::Name(Object::Notification),
            "none",
            "Notification, waited on by the console's owner, that is signalled when input has come. A virtual \
             machine's console has one already.",
        ),
    ]],
};
