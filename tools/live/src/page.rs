//! What the page says, before it is drawn.

use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub system: String,
    /// Time since boot, by the kernel's clock.
    pub up: Duration,
    pub cpus: Vec<Cpu>,
    /// Pages that processes have, and that there are for them.
    pub pages: (u64, u64),
    pub rows: Vec<Row>,
    /// Events that were overwritten before they were read.
    pub lost: u64,
    /// Why the numbers no longer change.
    pub fault: Option<String>,
}

/// Rates are by the second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Thousandths of the time that threads had it.
    pub busy: u32,
    /// Who had most of it, and how much.
    pub most: Option<(String, u32)>,
    pub interrupts: u64,
    pub messages: u64,
    pub calls: u64,
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// The processors of its threads, as `0`, `0,2` or `0-3`.
    pub cpus: String,
    pub state: String,
    /// It has ended, or cannot go on.
    pub is_bad: bool,
    /// Thousandths of a processor.
    pub time: u32,
    /// Pages that it has and may have.
    pub pages: (u64, u64),
    pub budget: Option<Budget>,
}

/// What is left of a reservation's budget in this period, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub left: u64,
    pub budget: u64,
    pub period: u64,
}

/// A console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tab {
    pub name: String,
    pub key: Option<char>,
    pub is_selected: bool,
    pub is_muted: bool,
}
