//! Why there is no bound.

pub type Error = wcet_flow::Located<Problem>;

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
