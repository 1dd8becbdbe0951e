//! Executables as the timing analysis sees them.
//!
//! [`Program::parse`] takes the bytes of a statically linked ELF executable for x86-64, 32-bit little-endian ARM or
//! RISC-V and returns its code, its data, its symbols and its entry; [`Lines`] the source lines of its DWARF. Whatever
//! is wrong with a file is an [`Error`] that says what and where; all that can be told apart come back together.
//!
//! # What the answer means
//! [`Program::code`] and [`Program::constant`] give bytes that do not change while the program runs. That holds by
//! the page tables where a segment is not writable. Some bare-metal programs have one segment that is both writable
//! and executable: there the sections decide, and [`Program::assumptions`] says so, since nothing but the program's
//! good conduct keeps those bytes.
//!
//! # Why it is sound
//! * An address has one meaning: segments that overlap, wrap around, or reach outside the file are errors.
//! * No relocation is left to do: those of a position-independent file are made for the address 0, and a file that needs
//!   others, or other relocations, is an error.
//! * Symbols and lines are used for names in reports and for naming entry points, never for a bound. Those that tell ARM's two
//!   instruction sets apart are compared with every transfer of control (`coding.rs`).

pub(crate) mod coding;
mod error;
mod lines;
mod parse;
mod program;
mod relocate;

pub use coding::Coding;
pub use error::{Error, Problem};
pub use lines::{Lines, Place};
pub use program::{Architecture, Permissions, Program, Segment, Symbol, SymbolKind};
