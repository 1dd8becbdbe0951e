//! Why an instruction cannot be lifted.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub address: u64,
    pub bytes: Vec<u8>,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("no code is here")]
    NoCode,
    #[error("ARM instructions stand at multiples of 4, and Thumb instructions at even addresses")]
    Misaligned,
    #[error("data is here, by the file's mapping symbols")]
    Data,
    #[error("is the second half of a Thumb instruction")]
    Half,
    #[error("goes to {target:#x}, which {why}")]
    Arrival { target: u64, why: String },
    #[error("goes on to {next:#x}, which is not what follows it: {why}")]
    Follows { next: u64, why: &'static str },
    #[error("has no defined meaning {0}")]
    Unpredictable(&'static str),
    #[error("RISC-V instructions stand at even addresses")]
    OddAddress,
    #[error("is no instruction the decoder knows")]
    Undecodable,
    #[error("`{0}` is not supported")]
    Unsupported(String),
    #[error("the decoder says `{decoder}`, the semantics {semantics}")]
    Disagreement { decoder: String, semantics: String },
    #[error("the semantics of `{mnemonic}` cannot be translated: {reason}")]
    Semantics { mnemonic: String, reason: String },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#x}: {}", self.address, self.problem)?;
        let mut separator = " (bytes ";
        for byte in &self.bytes {
            write!(out, "{separator}{byte:02x}")?;
            separator = " ";
        }
        out.write_str(if self.bytes.is_empty() { "" } else { ")" })
    }
}

impl std::error::Error for Error {}

/// What stops the lifter before the first instruction.
#[derive(Debug, thiserror::Error)]
#[error("the instruction semantics cannot be loaded: {0}")]
pub struct SetupError(pub String);
