//! Why there is no bound.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Error {
    /// 0 if it is about no place in particular.
    pub address: u64,
    /// The place for people, such as `memcpy+0x10`.
    pub place: String,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Problem {
    #[error("no time is known for this instruction: {0}")]
    Class(String),
    #[error("it waits for an event, so its time has no bound; end the region with it: --stop {address}")]
    Waits { address: String },
    #[error("the loop has no bound in this context ({chain}); state how often its header executes for each entry")]
    Unbounded { chain: String },
    #[error("no way from the entry to an end of the region is left: {0}")]
    NoEnd(&'static str),
    #[error("{0}")]
    Machine(String),
    #[error("a constraint names {0}, which does not exist")]
    Constraint(String),
    #[error("the bound is larger than numbers of 64 bits")]
    Overflow,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return write!(out, "{}", self.problem);
        }
        write!(out, "{:#x} ({}): {}", self.address, self.place, self.problem)
    }
}

impl std::error::Error for Error {}
