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
    #[error("ARM instructions stand at multiples of 4; Thumb is not supported")]
    Thumb,
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
