//! A description as typed data: names, places and values, with defaults where those need no other object; no ids and no
//! addresses yet. `check` says whether names exist and values fit together.

mod build;
pub mod guest_links;
pub mod machine;
pub mod network;
pub mod passed_device;

pub use build::build;
pub use machine::Machine;

use diagnostics::{Source, Span, Spanned};
use std::sync::Arc;

/// A system description.
#[derive(Debug, Clone)]
pub struct Description {
    pub source: Arc<Source>,
    /// The file's name without `.toml`.
    pub name: String,
    pub about: String,
    /// Where `[system]` stands.
    pub span: Span,
    /// What is missing may have been lost with a faulty table.
    pub has_lost_tables: bool,
    pub machine: Option<Spanned<String>>,
    pub cpus: Option<Spanned<u64>>,
    /// Names of mitigations.
    pub mitigations: Vec<Name>,
    /// Processes and, as such, the monitors of virtual machines, in the order of the text.
    pub processes: Vec<Process>,
    pub endpoints: Vec<Endpoint>,
    pub notifications: Vec<Notification>,
    pub buffers: Vec<Buffer>,
    pub shares: Vec<Share>,
    pub interrupts: Vec<Interrupt>,
    pub consoles: Vec<Console>,
}

pub type Name = Spanned<String>;

#[derive(Debug, Clone)]
pub struct Process {
    pub name: Name,
    pub program: Option<Name>,
    /// It names no program: its parent loads one.
    pub loaded_by_parent: bool,
    /// Keys that were written, with a value that could be read or not.
    pub written: Vec<&'static str>,
    pub vm: Option<Vm>,
    pub cpu: Spanned<u64>,
    pub priority: u64,
    pub quota: Option<Spanned<u64>>,
    pub stack: u64,
    pub time: Time,
    pub parent: Option<Name>,
    pub start: Option<Name>,
    pub on_death: Option<Name>,
    pub restart: Restart,
    pub fault_endpoint: Option<Name>,
    pub console: Option<Name>,
    pub devices: Vec<Name>,
    pub power: bool,
    pub dma: bool,
    /// The process that drives its disk, or that gives it a part of one.
    pub disk: Option<Name>,
    /// Where its part of the disk begins and how long it is, in bytes.
    pub disk_at: Option<Spanned<u64>>,
    pub disk_size: Option<Spanned<u64>>,
    pub disk_share: Option<Spanned<u64>>,
    /// The process that drives its sound controller.
    pub sound: Option<Name>,
    /// The protocol by which it serves several clients.
    pub serves: Option<Name>,
    /// The process that drives the card of this switch.
    pub uplink: Option<Name>,
    /// The process that is, or drives, its network.
    pub network: Option<Name>,
    /// Its hardware address, as written.
    pub mac: Option<Name>,
    /// Its part of the switch.
    pub network_share: Option<Spanned<u64>>,
    /// It reads what the kernel records.
    pub trace: bool,
    /// Name in the process, file.
    pub files: Vec<(Name, Name)>,
    pub args: Vec<(Name, Name)>,
    /// Threads after the first.
    pub threads: Vec<Thread>,
}

/// When the parent starts a process again that has ended.
#[derive(Debug, Clone)]
pub struct Restart {
    /// As written; none: never.
    pub policy: Option<Name>,
    /// So many restarts at most within so many nanoseconds.
    pub limit: u64,
    pub within: u64,
}

impl Restart {
    /// The policy, if it is one by which the process is ever started again.
    pub fn wanted(&self) -> Option<&Name> {
        self.policy.as_ref().filter(|policy| policy.value != "never")
    }
}

impl Process {
    /// Whether the key was written, however faulty its value.
    pub fn has(&self, key: &str) -> bool {
        self.written.contains(&key)
    }

    pub fn starts_at_boot(&self) -> bool {
        match &self.start {
            Some(start) => start.value == "boot",
            None => self.parent.is_none(),
        }
    }

    /// The word for it in messages.
    pub fn noun(&self) -> &'static str {
        if self.vm.is_some() {
            "virtual machine"
        } else {
            "process"
        }
    }
}

/// What a virtual machine has beyond its monitor process.
#[derive(Debug, Clone)]
pub struct Vm {
    pub memory: Option<Spanned<u64>>,
    pub kernel: Option<Name>,
    pub initrd: Option<Name>,
    /// In place of a kernel.
    pub firmware: Option<Name>,
    /// What its disk holds at first.
    pub disk_image: Option<Name>,
    pub cmdline: String,
    /// The CPU of each virtual CPU but the first, whose is the process's.
    pub more_cpus: Vec<Spanned<u64>>,
    /// The bus process that gives it a PCI device.
    pub pci: Option<Name>,
    /// The features that it sees; none: all.
    pub paravirtual: Option<Vec<Name>>,
}

impl Vm {
    /// How many virtual CPUs it has.
    pub fn num_cpus(&self) -> u64 {
        1 + self.more_cpus.len() as u64
    }
}

/// The name of what a virtual CPU but the first has in its monitor: thread, machine, notification.
pub fn virtual_cpu(number: usize) -> String {
    format!("cpu{number}")
}

#[derive(Debug, Clone)]
pub struct Thread {
    pub name: Name,
    pub cpu: Spanned<u64>,
    pub priority: u64,
    /// Its own keys; see [`Process::reservation`].
    pub time: Time,
}

/// The keys `period`, `budget` and `deadline` of a process or thread.
#[derive(Debug, Clone, Default)]
pub struct Time {
    pub period: Option<Spanned<u64>>,
    pub budget: Option<Spanned<u64>>,
    pub deadline: Option<Spanned<u64>>,
    /// The key was written, with a value that could be read or not.
    pub has_period: bool,
    pub has_budget: bool,
}

/// Time that a thread may spend: `budget` nanoseconds in each `period`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    pub period: u64,
    pub budget: u64,
}

impl Time {
    pub fn is_written(&self) -> bool {
        self.has_period || self.has_budget
    }

    pub fn reservation(&self) -> Option<Reservation> {
        Some(Reservation { period: self.period.as_ref()?.value, budget: self.budget.as_ref()?.value })
    }
}

impl Process {
    /// The threads' CPUs and own `period` and `budget`, the first thread's first. The process's keys are its first
    /// thread's, and those of each other thread without keys of its own.
    pub fn thread_times(&self) -> impl Iterator<Item = (&Spanned<u64>, &Time)> {
        let others = self.threads.iter().map(|thread| {
            let time = if thread.time.is_written() { &thread.time } else { &self.time };
            (&thread.cpu, time)
        });
        std::iter::once((&self.cpu, &self.time)).chain(others)
    }
}

#[derive(Debug, Clone)]
pub struct Endpoint {
    pub name: Name,
    /// Name under which the processes see it.
    pub seen_as: String,
    pub receiver: Option<Name>,
    pub senders: Vec<Name>,
    pub fifo: bool,
}

#[derive(Debug, Clone)]
pub struct Notification {
    pub name: Name,
    pub seen_as: String,
    pub waiter: Option<Name>,
    pub signallers: Vec<Name>,
}

#[derive(Debug, Clone)]
pub struct Buffer {
    pub name: Name,
    pub seen_as: String,
    pub capacity: u64,
    pub producers: Vec<Name>,
    pub consumers: Vec<Name>,
}

#[derive(Debug, Clone)]
pub struct Share {
    pub name: Name,
    pub seen_as: String,
    pub from: Option<Name>,
    pub to: Option<Name>,
    pub read_only: bool,
}

#[derive(Debug, Clone)]
pub struct Interrupt {
    pub name: Name,
    pub notification: Option<Name>,
}

#[derive(Debug, Clone)]
pub struct Console {
    pub name: Name,
    pub up: Option<Name>,
    pub input: Option<Name>,
}

impl Description {
    pub fn process(&self, name: &str) -> Option<&Process> {
        self.processes.iter().find(|process| process.name.value == name)
    }

    pub fn notification(&self, name: &str) -> Option<&Notification> {
        self.notifications.iter().find(|notification| notification.name.value == name)
    }

    pub fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.name.value == name)
    }

    pub fn console(&self, name: &str) -> Option<&Console> {
        self.consoles.iter().find(|console| console.name.value == name)
    }
}
