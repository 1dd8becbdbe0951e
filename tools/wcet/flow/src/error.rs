//! Why a program's control flow cannot be told.

use std::fmt;

/// A problem and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Located<P> {
    /// 0 if it is about no place in particular.
    pub address: u64,
    /// The address for people, such as `trap_syscall+0x12`, or the function.
    pub place: String,
    pub problem: P,
}

pub type Error = Located<Problem>;

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
    #[error("the time given with --timeout ended before the control flow was known: there is no part of a graph; give more, or begin elsewhere")]
    Late,
}

impl<P: fmt::Display> fmt::Display for Located<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return self.problem.fmt(out);
        }
        write!(out, "{:#x} ({}): {}", self.address, self.place, self.problem)
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for Located<P> {}
