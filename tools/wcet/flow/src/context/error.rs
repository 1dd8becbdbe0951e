//! Why a graph cannot be expanded.

pub type Error = crate::Located<Problem>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Problem {
    #[error("no function begins here; name it as an entry of the control flow too")]
    NoFunction,
    #[error(
        "there is no block {block} in it at which a region could begin, or no call from there to the next of the chain"
    )]
    NoPlace { block: usize },
    #[error("the call chains below the entry have more than {limit} blocks, most of them in copies of {most}; bound smaller regions, or raise the limit")]
    TooLarge { limit: usize, most: String },
    #[error("it calls itself; state how deep: --recursion {function}=DEPTH")]
    Recursion { function: String },
    #[error("control comes here from {from:#x} outside the loop that it closes: the loop has no single header")]
    Irreducible { from: u64 },
}
