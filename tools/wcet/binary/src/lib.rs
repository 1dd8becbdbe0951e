//! Executables and their machine code.
//!
//! [`load`] reads ELF files: segments, symbols, source lines. [`lift`] turns machine instructions into operations of one
//! intermediate language, which all analyses work on.

pub mod lift;
pub mod load;
