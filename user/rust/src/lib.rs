//! Programs for Ashlar in Rust.
//!
//! A program is a crate with `#![no_std]` and `#![no_main]` whose `main` is named by [`entry!`]:
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! use ashlar::{endpoint::{Message, Receiver}, Result, Thread};
//!
//! ashlar::entry!(main);
//!
//! fn main(_thread: Thread) -> Result<()> {
//!     let requests = Receiver::find("echo")?;
//!     let mut message = Message::default();
//!     requests.recv(&mut message)?;
//!     loop {
//!         message.words_mut().iter_mut().for_each(|word| *word += 1);
//!         requests.reply_recv(&mut message)?;
//!     }
//! }
//! ```
//!
//! What a process may use, the system description says, and programs find it by its name there: `Receiver::find("echo")`.
//! The kernel checks each use; what it refuses is an [`Error`]. All `unsafe` code is in this crate.
//!
//! Programs have `core` and no `std`. The crate has no dependencies. Its functions work on Ashlar alone: keep what is to be
//! tested on a PC in functions that do not call them.
#![cfg_attr(not(test), no_std)]

// Modules of protocols name the crate as those of a project do.
extern crate self as ashlar;

#[rustfmt::skip]
pub mod abi;
pub mod buffer;
#[rustfmt::skip]
mod calls;
pub mod console;
pub mod endpoint;
pub mod env;
mod error;
pub mod mailbox;
pub mod memory;
pub mod notification;
pub mod process;
#[rustfmt::skip]
pub mod protocols;
mod raw;
pub mod share;
mod start;
pub mod thread;
pub mod time;

pub use error::{Error, Result};
pub use start::Exit;
#[doc(hidden)]
pub use start::{panicked, started};
pub use thread::Thread;
