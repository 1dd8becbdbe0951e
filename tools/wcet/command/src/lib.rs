//! The command line of `ashlar timing`, and the codes of its errors.
//!
//! `ashlar` links this crate to show help, usage errors and explanations, and to build the analyser only when it is needed.
//! So nothing here may depend on the analysis.

pub mod arguments;
pub mod codes;
