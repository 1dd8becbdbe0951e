//! What is wrong with a kernel, or with what is said of it.

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Error {
    #[error("{path}: {cause}")]
    Description { path: String, cause: String },
    #[error("the kernel has no symbol `{symbol}`, which its description names as {part}; correct kernel/timing.toml, or keep the function apart")]
    NoSymbol { symbol: String, part: &'static str },
    #[error("{function} does not {what}, as kernel/timing.toml says")]
    NotSo { function: String, what: String },
    #[error("kernel/timing.toml names no memory that is about {about}")]
    NoMemory { about: String },
    #[error("{function} has {loops} loops, but kernel/timing.toml bounds number {which} of {of}; look which one is meant, and correct its `which` and `of`")]
    OtherLoops { function: String, loops: usize, which: usize, of: usize },
    #[error("kernel/timing.toml says that the interrupt {interrupt} wakes threads in the system call `{call}`, but there is no such call")]
    NoCall { call: String, interrupt: String },
    #[error("the time given with --timeout ended with {left} of {of} parts of the kernel to be bounded: there is no bound without them; give more")]
    Late { left: usize, of: usize },
    #[error("{0}")]
    Flow(String),
    #[error("more than {0} chains of calls lead to places where regions begin")]
    TooMany(usize),
}
