//! An emulated machine under control: start, wait for what its consoles say, type, end.

pub mod command;
pub mod monitor;
pub mod mux;
pub mod session;
mod start;
mod terminal;
pub mod transcript;

pub use command::{quoted, CommandLine};
pub use session::{End, Event, Session};
