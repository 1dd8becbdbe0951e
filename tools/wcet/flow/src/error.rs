//! Why a program's control flow cannot be told.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Error {
    pub address: u64,
    /// The address for people, such as `trap_syscall+0x12`.
    pub place: String,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Instruction(String),
    #[error("this {what} may go anywhere ({why}); state its targets: --targets {address}=SYMBOL,...")]
    Unresolved { what: &'static str, address: String, why: String },
    #[error("returns elsewhere than to its caller ({why}); if it switches stacks, state where new ones begin: --switch {function}=SYMBOL,...")]
    StrangeReturn { function: String, why: String },
    #[error("calls itself through {cycle}; state how deep: --recursion {function}=DEPTH")]
    Recursion { function: String, cycle: String },
    #[error("the loop is entered at {entries}: it has no single header; write it without jumps into it, compile with -fno-thread-jumps, or let blocks be copied: --copies NUMBER")]
    Irreducible { entries: String },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#x} ({}): {}", self.address, self.place, self.problem)
    }
}

impl std::error::Error for Error {}
