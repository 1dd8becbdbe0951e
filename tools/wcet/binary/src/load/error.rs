//! What can be wrong with an executable.

use std::fmt;

/// What is wrong, and where in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The part of the file, such as `segment 2`.
    pub place: String,
    pub problem: Problem,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for Error {}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is no ELF file that can be read: {0}")]
    Malformed(String),
    #[error("is for {0}; supported are x86-64, 32-bit little-endian ARM and RISC-V")]
    Architecture(String),
    #[error("is {0}; link it statically (-static -no-pie, or -static-pie)")]
    NotExecutable(&'static str),
    #[error("of kind {kind} at {address:#x} is none that a program without shared libraries needs; link it with -static-pie")]
    Relocation { address: u64, kind: u32 },
    #[error("at {address:#x} are in no segment")]
    RelocationsOutside { address: u64 },
    #[error("reaches outside the file: {size} bytes at offset {offset:#x} of {length} bytes")]
    OutsideFile { offset: u64, size: u64, length: u64 },
    #[error("has {file} bytes in the file but only {memory} in memory")]
    LargerThanMemory { file: u64, memory: u64 },
    #[error("wraps around the address space: {size} bytes at {address:#x}")]
    WrapsAround { address: u64, size: u64 },
    #[error("overlaps with {with} at {address:#x}")]
    Overlap { address: u64, with: String },
    #[error("no segment holds code")]
    NoCode,
    #[error("at {address:#x} is not code")]
    EntryOutsideCode { address: u64 },
    #[error("at {address:#x} {why}; its lowest bit tells: 1 for Thumb, 0 for ARM")]
    EntryState { address: u64, why: String },
}
