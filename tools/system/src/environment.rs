//! The environment page of a process: its name, slots and arguments, one `key=value` a line, ended by a NUL.
//! docs/src/reference/description.md explains the keys.

use crate::layout::PAGE_SIZE;
use std::fmt::Write;

/// Keys of the environment page, for the reference: form and meaning.
pub const KEYS: &[(&str, &str)] = &[
    ("name=NAME", "The process's name."),
    (
        "slot.KIND.NAME=N",
        "Slot of a grant. KIND is `endpoint`, `notification`, `buffer`, `share`, `process` (a child), `interrupt`, \
         `message` (of a child's interrupt), `device`, `console`, `vm`, `power` or `dma`; NAME is the object's name, or the name that its `as` gives. The power \
         grant is `slot.power.machine`, the DMA grant `slot.dma.memory`; a monitor's guest is `slot.vm.guest`, its \
         notification of console input `slot.notification.input`.",
    ),
    (
        "badge.ENDPOINT.SENDER=N",
        "For the receiver: the badge with which a sender's messages arrive, from 1 in the order of `senders`. Faults \
         arrive with the badge FAULT_BADGE and the number of the faulting thread (`abi.h`).",
    ),
    (
        "bit.NOTIFICATION.SIGNALLER=N",
        "For the waiter: the bit that a signaller sets, from 63 downwards in the order of `signallers`. An interrupt, \
         console input or a child's death sets the bit whose number is the slot of that interrupt, console or child.",
    ),
    (
        "restart.CHILD=POLICY LIMIT NS",
        "For the parent: `on-failure` or `always`, and how many restarts it makes at most within how many nanoseconds.",
    ),
    (
        "client.NAME=ADDRESS SHARE",
        "For a switch: a client that it serves, the hardware address that it has, and its `network_share`.",
    ),
    ("thread.NAME=N", "Index of a thread of this process, for starting it; `main` is 0."),
    ("file.NAME=0xADDRESS BYTES", "A file mapped read-only. A monitor has `file.kernel` and `file.initrd`, or `file.firmware`."),
    ("trace=0xADDRESS BYTES", "With `trace = true`: what the kernel records, as `kernel/abi.h` describes it."),
    ("trace.thread.NUMBER=THREAD", "With `trace = true`: the name of a thread, PROCESS or PROCESS.THREAD, by its number in events."),
    ("arg.KEY=VALUE", "A text of `args`. A monitor has `arg.memory` (bytes) and `arg.cmdline`, and \
     with a network `arg.network`, its driver or its switch, as a process has too; a switch has `arg.uplink`. With `disk` there is \
     `arg.disk`, the driver or service, and `arg.disk_size` (bytes) if the description gives it; with `sound` there is `arg.sound`."),
    ("client.NAME=FIRST BYTES SHARE", "With `serves = \"sata\"`: the part of the disk that a client gets, in bytes, and its `disk_share`."),
    ("client.NAME=", "With `serves = \"audio\"`: a client that it serves."),
    ("period_ns=N, budget_ns=N", "Period and budget in nanoseconds of its first thread, if it has them."),
];

/// The text of one environment page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    text: String,
}

impl Environment {
    pub fn line(&mut self, key: std::fmt::Arguments, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{key}={value}");
    }

    /// Whether the text and its NUL fit into the page.
    pub fn fits(&self) -> bool {
        (self.text.len() as u64) < PAGE_SIZE
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}
