//! Which kernel to build: its locks, and whether it checks itself.

use clap::{Args, ValueEnum};
use system::System;

/// How locks work in this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lock {
    #[default]
    Ticket,
    Mcs,
    /// One lock around the whole kernel, for comparison.
    Big,
}

impl Lock {
    /// The word for the kernel's Makefile.
    pub fn word(self) -> &'static str {
        match self {
            Lock::Ticket => "ticket",
            Lock::Mcs => "mcs",
            Lock::Big => "big",
        }
    }
}

/// Which kernel to build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct KernelOptions {
    /// The kernel's locks.
    #[arg(long, value_enum, default_value_t)]
    pub lock: Lock,
    /// A kernel that asserts and can walk all its tables.
    #[arg(long)]
    pub debug: bool,
    /// A kernel that records what happens, for `ashlar trace` and for processes that read it.
    #[arg(skip)]
    pub trace: bool,
}

impl KernelOptions {
    /// The same, and it records if a process of the system reads what it records.
    pub fn for_system(self, system: &System) -> KernelOptions {
        KernelOptions { trace: self.trace || system.reads_trace(), ..self }
    }

    /// Name of the folder of such a kernel: the same rule as in kernel/Makefile.
    pub fn configuration(&self) -> String {
        let debug = if self.debug { "-debug" } else { "" };
        let trace = if self.trace { "-trace" } else { "" };
        format!("x86_64-{}{debug}{trace}", self.lock.word())
    }
}
