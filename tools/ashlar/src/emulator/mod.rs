//! An emulated machine under control: start, wait for what its consoles say, type, end.
//!
//! Knows: processes, pipes, the console stream. Does not know: what a system is, nor how output is shown.

pub mod command;
pub mod monitor;
pub mod mux;
pub mod session;
pub mod transcript;

pub use command::CommandLine;
pub use session::{End, Event, Session};
